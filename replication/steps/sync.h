#ifndef ADDONS_REPLICATION_STEPS_SYNC_H_
#define ADDONS_REPLICATION_STEPS_SYNC_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

/// A mirror snapshot of this site's primary.
struct SyncSnapshot {
  uint64_t id = 0;
  int64_t created = 0;  // unix seconds by this site's cluster
  /// Right before it was made, by the daemon's clock: what was written until
  /// then is in it.
  SteadyTime begun{};
};

/// How a verb that makes mirror snapshots of a primary speaks of them.
struct SyncWords {
  absl::string_view action;  // as in FailedTo()
  absl::string_view its;     // "the mirror snapshot"
  absl::string_view made;    // "the mirror snapshot that was made"
  absl::string_view any;     // "mirror snapshot"
};

// What making one consists of; points (points/make_point.h) are made likewise.

/// The peers that receive what is written here. FAILED_PRECONDITION: none does.
absl::StatusOr<std::vector<MirrorPeer>> ReceivingPeers(const Session& session,
                                                       const SyncWords& words);
/// AwaitSnapshotTurn() of work that can begin anew.
absl::Status AwaitSyncTurn(const Session& session, const MirrorView& view,
                           const SyncWords& words);
/// ChangeImage(). RESOURCE_EXHAUSTED: the pool is full, or at its quota.
absl::Status ChangeForSync(const Session& session, const SyncWords& words,
                           const std::function<absl::Status(Image&)>& change);
/// What is newest of an image that was just changed, whoever has made it: it
/// holds as much. UNAVAILABLE: that is not later than `after`, or not whole.
absl::Status ReadSnapshotBack(const Session& session, Image& image,
                              uint64_t after, const SyncWords& words,
                              SyncSnapshot* made);
/// ChangeForSync(): `change`, and a mirror snapshot that carries it, read back.
/// With the lease, and in this daemon's turn.
absl::StatusOr<SyncSnapshot> MakeCarrier(
    const Session& session, const MirrorView& view, const SyncWords& words,
    const std::function<absl::Status(Image&)>& change);

/// Makes a mirror snapshot of a primary now, in this daemon's turn and with the
/// lease (ceph_faults/mirror_snapshot.h), and does not wait until it is copied.
///
// clang-format off
///   MakeOne(): LookAtPrimary()       see replication/steps/primary_only.h
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ a rollback has not ended ───────────────> UNAVAILABLE
///     ├─ DescribeCloneLoss() of a clone ─────────> FAILED_PRECONDITION
///     ├─ no peer receives ───────────────────────> FAILED_PRECONDITION
///     ├─ AwaitSnapshotTurn()         see replication/steps/ceph_faults/mirror_snapshot.h
///     ├─ MakeSnapshotRoom() cannot ──────────────> FAILED_PRECONDITION
///     └─ BeginMutation()
///        "making a mirror snapshot"  MakeCarrier(): MakeMirrorSnapshot()
///             ReadSnapshotBack() ────────────────────────> OK
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
