#ifndef ADDONS_REPLICATION_GROUP_PROMOTE_H_
#define ADDONS_REPLICATION_GROUP_PROMOTE_H_

#include "absl/status/status.h"
#include "ceph/image.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/members.h"
#include "replication/parameters.h"

namespace addons {

/// Promote() for all members of a group.
///
// clang-format off
///   PromoteMembers()
///     ├─ PromotePlanned()
///     │    Probe(): runs Promote() of each up to its first change
///     │      ├─ AnyFailed() ───────────> PromoteGroupCode(), nothing was changed
///     │      └─ all ready or primary ──> RunReady()
///     │           ├─ AnyFailed() ──────> UnfinishedPlan()
///     │           └─ all primary ──────> JoinRbdGroup() ──> OK
///     └─ PromoteByForce()
///          RunAll(): each that can be promoted, whatever becomes of the others
///            ├─ all failed ────────────> PromoteGroupCode()
///            ├─ AnyFailed() ───────────> UnfinishedPlan()
///            └─ all primary ───────────> JoinRbdGroup() ──> OK
// clang-format on
///
/// Without force all members stand at one point in time afterwards. By force
/// each returns to its own last snapshot, so they are consistent only each for
/// itself. For joining the rbd group see rbd_group.h.
///
/// OK: each member is primary. The codes are those of PromoteGroupCode(); once
/// a planned promotion has begun to change members it is never
/// FAILED_PRECONDITION. UNAVAILABLE for a group without members: on a peer site
/// their entries may still be on their way. Idempotent; a repeated call
/// finishes an interrupted one.
absl::Status PromoteGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target, Force force,
                          const ReplicationParameters& parameters);

/// What that answers for a group without members.
absl::Status NoMembersToPromote(const GroupHandle& group_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_PROMOTE_H_
