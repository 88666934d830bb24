#ifndef ADDONS_REPLICATION_GROUP_RESYNC_H_
#define ADDONS_REPLICATION_GROUP_RESYNC_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/members.h"
#include "replication/steps/resync.h"

namespace addons {

/// Resync() for all members of a group. Each member is resynced only when its
/// own state asks for it, never because another one is. But no copy is deleted
/// unless every member can be, or need not be, resynced: as long as one of them
/// has no living source, the members that are left here may be the only
/// complete set.
///
/// Ready when all members are; a group without members is not. Codes:
/// GroupCode().
absl::StatusOr<ResyncResult> ResyncGroup(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const GroupTarget& target,
                                         Force force);

/// What that answers for a group without members.
absl::Status NoMembersToResync(const GroupHandle& group_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_RESYNC_H_
