#ifndef ADDONS_REPLICATION_GROUP_INFO_H_
#define ADDONS_REPLICATION_GROUP_INFO_H_

#include "absl/status/statusor.h"
#include "replication/environment.h"
#include "replication/group/members.h"
#include "replication/steps/info.h"

namespace addons {

/// How the replication of a group is doing: the worst health of its members,
/// and the numbers of the one that is furthest behind among those whose numbers
/// are known; the message names those whose are not. Takes no operation key,
/// changes nothing; blocks until `deadline` at most, not counting Ceph's own
/// timeouts.
///
/// A member that cannot be read makes it DEGRADED, one that is not replicated
/// ERROR. FAILED_PRECONDITION: replication of all members is off. NOT_FOUND: of
/// all members nothing was ever copied, or none exists. When all fail for other
/// reasons: GroupCode().
absl::StatusOr<ReplicationInfo> GetGroupReplicationInfo(
    ReplicationEnvironment& environment, const GroupTarget& target,
    SteadyTime deadline);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_INFO_H_
