#ifndef ADDONS_REPLICATION_GROUP_DEMOTE_H_
#define ADDONS_REPLICATION_GROUP_DEMOTE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/members.h"

namespace addons {

/// Demote() for all members of a group. None is demoted until each of them is
/// demoted already or could be now: no workload has it open, a peer follows it.
///
/// A member that is demoted leaves the rbd group (see rbd_group.h).
///
/// OK: no member is primary, and each demotion is whole; also for a group
/// without members. Other codes: GroupCode(). Idempotent; a repeated call
/// finishes an interrupted one.
absl::Status DemoteGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_DEMOTE_H_
