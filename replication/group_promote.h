#ifndef ADDONS_REPLICATION_GROUP_PROMOTE_H_
#define ADDONS_REPLICATION_GROUP_PROMOTE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group_members.h"
#include "replication/parameters.h"

namespace addons {

/// Promote() for all members of a group.
///
/// Planned (without force), so that all members stand at one point in time:
///
///   probe all ──some wait──> go on waiting
///     │   └──none waits, some refuse──> answer, nothing was changed
///     └──all ready or primary──> early ones still so? ──> promote all
///
/// By force: each member that can be promoted is, whatever becomes of the
/// others; each returns to its own last snapshot, so they are consistent only
/// each for itself.
///
/// Members that are primary join the rbd group (see rbd_group.h).
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

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_PROMOTE_H_
