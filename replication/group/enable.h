#ifndef ADDONS_REPLICATION_GROUP_ENABLE_H_
#define ADDONS_REPLICATION_GROUP_ENABLE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/members.h"
#include "replication/parameters.h"

namespace addons {

/// Whether the class agrees that a group is replicated member by member
/// (`groupReplication: members`), or this daemon does for classes that do not
/// say (--group-replication=members). FAILED_PRECONDITION: neither does;
/// INVALID_ARGUMENT: the class says something else.
absl::Status CheckGroupReplication(const ReplicationOptions& options,
                                   const ParameterMap& parameters);

/// Enable() for all members of a group: all are enabled, or, where one of them
/// cannot be, none.
///
/// OK: replication of each member is on in the wanted mode.
/// FAILED_PRECONDITION: the group has no members, of which nothing would be
/// replicated, and later ones would not be either; or a row of Enable(). Other
/// codes: GroupCode(). Idempotent; a repeated call finishes an interrupted one.
absl::Status EnableGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target,
                         const ReplicationParameters& parameters);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_ENABLE_H_
