#ifndef ADDONS_REPLICATION_GROUP_RBD_GROUP_H_
#define ADDONS_REPLICATION_GROUP_RBD_GROUP_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/members.h"

namespace addons {

// On each site the rbd group of a volume group holds those members that are
// primary there. rbd-mirror cannot delete an image that is in a group: when a
// resync, or a disable on the other site, takes a secondary's copy away, it
// would stay in the trash for ever (measured, 16.2.15).
//
// Who is a member stands in the journal; nothing of a failover depends on the
// rbd group. So what fails here is logged and is no failure of the verb: not OK
// is only what BeginMutation() returned.
//
// librbd changes group and image in several steps, which two clients can mix,
// and what a verb has seen may be old by then: so both take the lease on the
// group, as those do that change its members, and look again with it.

/// Takes the members that are not primary any more out of the rbd group: those
/// that name it, and those that it lists although the image names none, as a
/// call that died leaves it. Idempotent.
absl::Status LeaveRbdGroup(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const GroupTarget& target);

/// Makes the rbd group if there is none, and puts the members that are primary
/// and in no group into it, several at a time; those that an interrupted call
/// left incomplete there, too. Idempotent.
absl::Status JoinRbdGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_RBD_GROUP_H_
