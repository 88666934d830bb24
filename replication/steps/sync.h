#ifndef ADDONS_REPLICATION_STEPS_SYNC_H_
#define ADDONS_REPLICATION_STEPS_SYNC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

/// A mirror snapshot of this site's primary.
struct SyncSnapshot {
  uint64_t id = 0;
  int64_t created = 0;  // unix seconds by this site's cluster
  /// Right before it was made, by the daemon's clock: what was written until
  /// then is in it.
  SteadyTime begun{};
};

/// Makes a mirror snapshot of a primary now, in this daemon's turn and with the
/// lease (ceph_faults/mirror_snapshot.h), and does not wait until it is copied.
///
// clang-format off
///   MakeOne(): LookAtPrimary()       see replication/steps/primary_only.h
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ DescribeCloneLoss() of a clone ─────────> FAILED_PRECONDITION
///     ├─ no peer receives ───────────────────────> FAILED_PRECONDITION
///     ├─ AwaitSnapshotTurn()         see replication/steps/ceph_faults/mirror_snapshot.h
///     ├─ MakeSnapshotRoom() cannot ──────────────> FAILED_PRECONDITION
///     └─ BeginMutation()
///        "making a mirror snapshot"  MakeMirrorSnapshot()
///             read back ─────────────────────────> OK
///
///   AwaitSync(): LookAtCopies()  "looking at what the other site has" <─┐
///     ├─ not primary, Diverged() ────────────────> FAILED_PRECONDITION  │
///     ├─ HasCopied() of each peer    see replication/look/peers.h       │
///     │                   ───────────────────────> OK                   │
///     └─ "waiting until the copy is complete"                           │
///             LookAgainAfter() ─────────────────────────────────────────┘
// clang-format on
///
/// FAILED_PRECONDITION: as above. NOT_FOUND: no such volume, or its image is
/// gone. RESOURCE_EXHAUSTED: the pool is full, or at its quota. UNAVAILABLE:
/// the manager makes snapshots just now and the caller leaves, or the image
/// refuses writes. Each call makes one.
absl::StatusOr<SyncSnapshot> MakeSyncSnapshot(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target);

/// Waits until each receiving peer has reported that it has `snapshot`, or a
/// newer one, whole: the names of their sites. A read, without the lease:
/// nothing waits for it.
///
/// FAILED_PRECONDITION: this site is not primary any more, or a peer is in
/// split brain with it, so that it copies nothing before a resync. UNAVAILABLE:
/// a peer has not told yet, and the caller leaves; the message says how far
/// each is, and how old its word. Otherwise as MakeSyncSnapshot().
absl::StatusOr<std::vector<std::string>> AwaitSync(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, const SyncSnapshot& snapshot);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_SYNC_H_
