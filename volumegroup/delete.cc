#include "volumegroup/delete.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volumegroup/members.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

absl::Status CheckEmpty(OperationContext& context,
                        const VolumeGroupEnvironment& environment,
                        const CephUser& user, const ResolvedGroup& group) {
  const std::vector<MemberView> members =
      LookAtMembers(environment, user, group.members(), LookDeadline(context));
  for (const MemberView& view : members) {
    if (view.problem.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          group.Describe(), " has members, for instance volume '",
          view.volume_id,
          "': take them out with ModifyVolumeGroupMembership first"));
    }
  }
  for (const MemberView& view : members) {
    if (!view.broken()) {
      return absl::UnavailableError(
          absl::StrCat(group.Describe(), " may have a member: volume '",
                       view.volume_id, "': ", view.problem.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status Remove(OperationContext& context, const ResolvedGroup& group,
                    const std::string& instance_id) {
  context.Step("removing the rbd group");
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(pool->RemoveGroup(group.attributes.group_name));
  context.Step("removing the journal entry");
  ADDONS_RETURN_IF_ERROR(
      GroupDirectory(*pool, instance_id)
          .Release(group.attributes.request_name, group.uuid));
  return GroupJournal(*pool).Remove(group.uuid);
}

absl::StatusOr<GroupOutcome> DeleteOnce(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const DeleteGroupRequest& request) {
  context.Step("reading the group");
  const auto group = environment.resolver.ResolveGroup(
      request.group_id, request.user, LookDeadline(context));
  if (absl::IsNotFound(group.status())) return GroupOutcome();
  ADDONS_RETURN_IF_ERROR(group.status());
  ADDONS_RETURN_IF_ERROR(
      CheckEmpty(context, environment, request.user, *group));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(
      DuringChange(Remove(context, *group, environment.options.instance_id)));
  return GroupOutcome();
}

}  // namespace

absl::StatusOr<GroupOutcome> DeleteGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const DeleteGroupRequest& request) {
  return RetryWhenBlocklisted(
      context, [&] { return DeleteOnce(context, environment, request); });
}

}  // namespace addons
