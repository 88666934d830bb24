#include "volumegroup/delete.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "lease/leased_context.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volumegroup/adopt.h"
#include "volumegroup/group_history.h"
#include "volumegroup/members.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

absl::Status CheckEmpty(OperationContext& context,
                        const VolumeGroupEnvironment& environment,
                        const CephUserRef& user, const ResolvedGroup& group) {
  const std::vector<MemberView> members =
      MeasureMembers(environment, user, group.members(), Access::kMutate,
                     LookDeadline(context));
  for (const MemberView& view : members) {
    if (view.problem.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          group.Describe(), " has members, for instance volume '",
          view.volume_id.text(),
          "': take them out with ModifyVolumeGroupMembership first"));
    }
  }
  for (const MemberView& view : members) {
    if (!view.broken()) {
      return absl::UnavailableError(
          absl::StrCat(group.Describe(), " may have a member: volume '",
                       view.volume_id.text(), "': ", view.problem.message()));
    }
  }
  return absl::OkStatus();
}

/// The snapshots of the rbd group are restore points that somebody has made,
/// and would go with it.
absl::Status CheckNoSnapshots(Pool& pool, const ResolvedGroup& group) {
  const std::string& name = group.attributes.group_name;
  ADDONS_ASSIGN_OR_RETURN(const std::vector<std::string> snapshots,
                          pool.GroupSnapshots(name));
  if (snapshots.empty()) return absl::OkStatus();
  constexpr size_t kNamed = 5;
  const auto named = absl::MakeConstSpan(snapshots).subspan(0, kNamed);
  const std::string names = absl::StrJoin(
      named, ", ", [](std::string* out, const std::string& snapshot) {
        absl::StrAppend(out, Quoted(snapshot));
      });
  return absl::FailedPreconditionError(absl::StrCat(
      group.Describe(), " has ", snapshots.size(),
      snapshots.size() == 1 ? " snapshot (" : " snapshots (", names,
      snapshots.size() > named.size() ? ", ..." : "",
      "), which would be removed with it; remove what nobody restores from "
      "with `rbd group snap rm ",
      pool.Spec(name), "@SNAPSHOT`, then repeat the call"));
}

absl::Status Remove(OperationContext& context, const ResolvedGroup& group,
                    const std::string& instance_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(CheckNoSnapshots(*pool, group));
  context.Step("removing the rbd group");
  ADDONS_RETURN_IF_ERROR(pool->RemoveGroup(group.attributes.group_name));
  context.Step("removing the journal entry");
  ADDONS_RETURN_IF_ERROR(
      GroupDirectory(*pool, instance_id)
          .Release(group.attributes.request_name, group.uuid));
  return GroupJournal(*pool).Remove(group.uuid);
}

/// The journal has no such group; an adoption of it may have been interrupted.
absl::Status RemoveHalfAdopted(LeasedContext& context,
                               const VolumeGroupEnvironment& environment,
                               const DeleteGroupRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto half,
      HalfAdopted(environment, request.group_id, request.user));
  if (!half.has_value()) return absl::OkStatus();
  context.Aim(LeaseOf(*half, /*although_full=*/true));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  return DuringChange(Remove(context, *half, environment.options.instance_id));
}

absl::Status DeleteOnce(LeasedContext& context,
                        const VolumeGroupEnvironment& environment,
                        const DeleteGroupRequest& request) {
  context.Step("reading the group");
  const auto group = environment.resolver.ResolveGroup(
      request.group_id, request.user, Access::kMutate, LookDeadline(context));
  if (absl::IsNotFound(group.status())) {
    return RemoveHalfAdopted(context, environment, request);
  }
  ADDONS_RETURN_IF_ERROR(group.status());
  LocateGroup(environment, request.group_id.text(), *group);
  context.Aim(LeaseOf(*group, /*although_full=*/true));
  ADDONS_RETURN_IF_ERROR(
      CheckEmpty(context, environment, request.user, *group));
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  return DuringChange(Remove(context, *group, environment.options.instance_id));
}

}  // namespace

absl::Status DeleteGroup(OperationContext& context,
                         const VolumeGroupEnvironment& environment,
                         const DeleteGroupRequest& request) {
  return RunOnGroup(context, environment, "delete", [&](LeasedContext& leased) {
    return DeleteOnce(leased, environment, request);
  });
}

}  // namespace addons
