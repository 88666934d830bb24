#ifndef ADDONS_POINTS_MAKE_POINT_H_
#define ADDONS_POINTS_MAKE_POINT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/steps/sync.h"

namespace addons {

/// A point that was made.
struct MadePoint {
  std::string name;
  uint64_t snapshot = 0;  // its id on this site
  /// The mirror snapshot that brings it to the other site, AwaitSync().
  SyncSnapshot carrier;
};

/// Where the other site has not got the newest mirror snapshot whole yet.
enum class WhenNotInStep { kWait, kRefuse };

/// Makes a point of a primary, with the lease and in this daemon's turn
/// (ceph_faults/mirror_snapshot.h): two mirror snapshots, the point, and the
/// mirror snapshot that carries it. The second of the two has nothing to copy
/// and seals the first: a forced promotion beside half the point returns to
/// what was whole before (docs/points.md).
///
// clang-format off
///   Make(): LookAtPrimary()          see replication/steps/primary_only.h
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ a rollback has not ended ───────────────> UNAVAILABLE
///     ├─ a clone, kMostPoints ───────────────────> FAILED_PRECONDITION
///     ├─ one of this name that was read ─────────> ALREADY_EXISTS
///     ├─ no peer receives ───────────────────────> FAILED_PRECONDITION
///     ├─ "waiting until the other site is in step" until each peer has the
///     │  newest mirror snapshot whole ───────────> UNAVAILABLE
///     ├─ no room for four snapshots ─────────────> FAILED_PRECONDITION
///     ├─ AwaitSnapshotTurn()         see replication/steps/ceph_faults/mirror_snapshot.h
///     └─ BeginMutation()
///        "making the point"  MakeSealed(): MakeMirrorSnapshot() twice,
///                            CreateSnapshot(), MakeMirrorSnapshot(), ReadSnapshotBack();
///                            or CarryOn() of one that was not read ──> OK
///
///   SealMember(): NeedLock(), as Make() until BeginMutation()
///     "sealing what is whole"  Seal()
///   CarryMember(): LookAtPrimary(), the point is there, AwaitSnapshotTurn(),
///     BeginMutation()
///     "bringing the point to the other site"  CarryOn()
///
///   Store(): LookAtPrimary(), the point is the same, AwaitSnapshotTurn(),
///     "storing what was read"  MakeCarrier() of ReplacePointRecord()
///   Remove(): LookAtPrimary()
///     ├─ a rollback needs it ────────────────────> UNAVAILABLE
///     └─ BeginMutation()
///     "removing the point"  ForgetRecordOf(), RemoveSnapshot()
// clang-format on
///
/// With WhenNotInStep::kRefuse a site that is not in step is not waited for.
///
/// What fails removes the point. RESOURCE_EXHAUSTED: the pool is full.
/// INVALID_ARGUMENT: `name`; empty: the present moment. FAILED_PRECONDITION
/// also: Ceph keeps too few mirror snapshots. Otherwise as MakeSyncSnapshot().
absl::StatusOr<MadePoint> MakePoint(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const VolumeTarget& target,
                                    const std::string& name,
                                    WhenNotInStep when = WhenNotInStep::kWait);

// The same for members of a group, whose points are made elsewhere, all at one
// instant (points/group_point.h).

/// Makes the two mirror snapshots that seal what is whole: the image.
/// FAILED_PRECONDITION also: it has no exclusive lock, or this librbd no
/// LockMode::kTransient. Otherwise as MakePoint().
absl::StatusOr<PlacedImage> SealForPoint(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const VolumeTarget& target);
/// Waits until it is this daemon's turn to make a mirror snapshot of a primary:
/// then nobody else makes one for some seconds. Changes nothing.
absl::Status AwaitPointTurn(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target);
/// Makes the mirror snapshot that carries a point of this term which is there.
/// UNAVAILABLE also: it is not.
absl::StatusOr<MadePoint> CarryPoint(OperationContext& context,
                                     ReplicationEnvironment& environment,
                                     const VolumeTarget& target,
                                     const std::string& name);

/// Puts a record (DigestPoint()) into the image's metadata in the place of the
/// one before, and makes the mirror snapshot that carries it. UNAVAILABLE: the
/// point is not there any more. A record of this point that is there stays.
/// Otherwise as MakePoint().
absl::StatusOr<SyncSnapshot> StoreRecord(
    OperationContext& context, ReplicationEnvironment& environment,
    const VolumeTarget& target, const std::string& name, uint64_t snapshot,
    const std::map<std::string, std::string>& record);

/// Removes a point from a primary, and its record. The other site's goes with
/// the next mirror snapshot. False: it was not there. FAILED_PRECONDITION: off,
/// secondary. Otherwise as MakePoint().
absl::StatusOr<bool> RemovePoint(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const std::string& name);

}  // namespace addons

#endif  // ADDONS_POINTS_MAKE_POINT_H_
