#include "volumegroup/mirrored_members.h"

#include "replication/group_membership.h"

namespace addons {
namespace {

GroupChange ToGroupChange(const MembershipChange& change) {
  return {change.group.group_id, change.user.Clone(), change.kept,
          change.added,          change.removed,      change.flatten};
}

}  // namespace

absl::Status MirroredMembers::Validate(OperationContext& context,
                                       const MembershipChange& change) {
  return CheckGroupChange(context, environment_, ToGroupChange(change));
}

absl::Status MirroredMembers::Join(OperationContext& context,
                                   const MembershipChange& change) {
  return EnableAdded(context, environment_, ToGroupChange(change));
}

absl::Status MirroredMembers::Leave(OperationContext& context,
                                    const MembershipChange& change) {
  return DisableRemoved(context, environment_, ToGroupChange(change));
}

}  // namespace addons
