#ifndef ADDONS_POINTS_GROUP_POINT_H_
#define ADDONS_POINTS_GROUP_POINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "points/prove.h"
#include "replication/environment.h"
#include "replication/group/members.h"

namespace addons {

// A point of a group: one of each member, all of one name (GroupPointName), of
// one instant.

/// More locks would be held for too long (measured, 20.2.4).
inline constexpr size_t kMostTogether = 100;

/// Makes a point of all members at one instant.
///
// clang-format off
///   MakeGroupPoint(): "looking at the points"  LookAtPoints() of each member
///     ├─ no members, more than kMostTogether ────> FAILED_PRECONDITION
///     ├─ each has one called `base` that was read > ALREADY_EXISTS
///     ├─ each has one called `base`: it is carried, see below
///     ├─ SealForPoint() of all of them, or none    see points/make_point.h
///     ├─ AwaitPointTurn() of all of them
///     │  "making the points"  Cluster::SnapshotTogether()
///     │      fails: RemovePoint() of each ───────> its error
///     └─ CarryPoint() of each ───────────────────> OK
// clang-format on
///
/// What an interrupted call has left is removed when the point is made. `base`:
/// empty: the present moment. FAILED_PRECONDITION also: an image has no
/// exclusive lock, or this librbd cannot hold the locks (before Ceph 19.2.4).
/// UNAVAILABLE also: a writer did not give its lock; repeat the call. Otherwise
/// as MakePoint() of each member, by GroupCode(). Returns its name.
absl::StatusOr<std::string> MakeGroupPoint(OperationContext& context,
                                           ReplicationEnvironment& environment,
                                           const GroupTarget& target,
                                           const std::string& base);

/// A point that all members have on this site.
struct SharedPoint {
  std::string name;
  bool recorded = false;  // each member's record is of it
  int64_t made = 0;       // of the newest record, unix seconds
};

/// The points of this group that each of its members has, the oldest first.
/// Errors of LookAtPoints() of any member.
absl::StatusOr<std::vector<SharedPoint>> LookAtGroupPoints(
    OperationContext& context, ReplicationEnvironment& environment,
    const GroupTarget& target);

/// RemovePoint() of each member: whether any had it. INVALID_ARGUMENT: it is no
/// name of a group's point.
absl::StatusOr<bool> RemoveGroupPoint(OperationContext& context,
                                      ReplicationEnvironment& environment,
                                      const GroupTarget& target,
                                      const std::string& name);

}  // namespace addons

#endif  // ADDONS_POINTS_GROUP_POINT_H_
