#ifndef ADDONS_REPLICATION_GROUP_DISABLE_H_
#define ADDONS_REPLICATION_GROUP_DISABLE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/member_status.h"
#include "replication/group/members.h"
#include "replication/parameters.h"
#include "volume/csi_handle.h"

namespace addons {

/// Disable() for all members of a group: all are disabled, or, where one of
/// them must not be, none. A member that does not exist any more, or whose
/// entry in the group is no volume, is disabled: it must not keep the group for
/// ever. A member whose cluster is not configured is UNAVAILABLE: it may still
/// be mirrored. OK for a group without members.
///
/// Otherwise codes are those of GroupCode(). Idempotent; a repeated call
/// finishes an interrupted one.
absl::Status DisableGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target,
                          const ReplicationParameters& parameters);

/// A member whose disable has this answer does not exist any more, or is no
/// volume.
bool NeedsNoDisable(const VolumeHandle& volume_id, const absl::Status& answer);

/// What DisableGroup() calls its work in messages.
GroupText DisableText(const GroupHandle& group_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_DISABLE_H_
