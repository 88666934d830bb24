#include "volumegroup/modify.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "volumegroup/change_members.h"
#include "volumegroup/members.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

/// The volumes among `leaving` that are there. UNAVAILABLE: one may be, and
/// must not leave without being taken out of everything.
absl::StatusOr<std::vector<std::string>> WhoIsThere(
    const std::vector<MemberView>& leaving) {
  std::vector<std::string> there;
  for (const MemberView& view : leaving) {
    if (view.problem.ok()) {
      there.push_back(view.volume_id);
    } else if (view.volume.has_value() && !view.broken()) {
      return absl::UnavailableError(
          absl::StrCat("Failed to look at volume '", view.volume_id,
                       "', which is to leave: ", view.problem.message()));
    }
  }
  return there;
}

absl::StatusOr<GroupOutcome> ModifyOnce(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const HeldKeys& held) {
  context.Step("reading the group");
  ADDONS_ASSIGN_OR_RETURN(
      const ResolvedGroup group,
      environment.resolver.ResolveGroup(request.group_id, request.user,
                                        LookDeadline(context)));
  const auto wanted = ByIdentity(environment.resolver, request.volume_ids);
  const auto present = ByIdentity(environment.resolver, group.members());
  std::vector<std::string> added;
  std::vector<std::string> kept;
  for (const auto& [identity, id] : wanted) {
    (present.contains(identity) ? kept : added).push_back(id);
  }
  std::vector<std::string> removed;
  for (const std::string& id : group.members()) {
    // Each id of a volume that the journal has under two.
    if (!wanted.contains(environment.resolver.OperationKey(id).value_or(id))) {
      removed.push_back(id);
    }
  }
  GroupOutcome outcome;
  outcome.group.group_id = request.group_id;
  for (const std::string& id : kept) {
    outcome.group.volumes.push_back({id, 0, {}});
  }
  if (added.empty() && removed.empty()) return outcome;

  outcome.more_keys = MissingKeys(KeysOf(environment.resolver, removed), held);
  if (!outcome.more_keys.empty()) return outcome;
  if (!added.empty()) {
    ADDONS_RETURN_IF_ERROR(
        CheckMemberCount(environment.options, wanted.size()));
  }
  context.Step("looking at the volumes");
  const std::vector<MemberView> coming =
      LookAtMembers(environment, request.user, added, LookDeadline(context));
  for (const MemberView& view : coming) {
    ADDONS_RETURN_IF_ERROR(
        CheckMayJoin(group, view, absl::StatusCode::kInvalidArgument));
  }
  const std::vector<MemberView> leaving =
      LookAtMembers(environment, request.user, removed, LookDeadline(context));
  MembershipChange change{group, request.user, request.flatten,
                          kept,  added,        {}};
  ADDONS_ASSIGN_OR_RETURN(change.removed, WhoIsThere(leaving));
  ADDONS_RETURN_IF_ERROR(environment.replication.Validate(context, change));

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(DuringChange(
      ChangeMembers(context, environment, change, coming, leaving)));
  for (const MemberView& view : coming) {
    outcome.group.volumes.push_back(ToAnswer(view));
  }
  return outcome;
}

}  // namespace

absl::StatusOr<GroupOutcome> ModifyGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const HeldKeys& held) {
  return RetryWhenBlocklisted(
      context, [&] { return ModifyOnce(context, environment, request, held); });
}

}  // namespace addons
