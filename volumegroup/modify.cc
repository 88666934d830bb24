#include "volumegroup/modify.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lease/leased_context.h"
#include "volumegroup/adopt.h"
#include "volumegroup/change_members.h"
#include "volumegroup/group_history.h"
#include "volumegroup/members.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

/// The volumes among `leaving` that are there. UNAVAILABLE: one may be, and
/// must not leave without being taken out of everything.
absl::StatusOr<std::vector<VolumeHandle>> WhoIsThere(
    Resolver& resolver, const std::vector<MemberView>& leaving) {
  std::vector<VolumeHandle> there;
  for (const MemberView& view : leaving) {
    if (view.problem.ok()) {
      there.push_back(view.volume_id);
    } else if (!view.broken() && resolver.KeyOfVolume(view.volume_id).ok()) {
      // Its rbd group and its mirroring would stay as they are for ever.
      return absl::UnavailableError(
          absl::StrCat("Failed to look at volume '", view.volume_id.text(),
                       "', which is to leave: ", view.problem.message()));
    }
  }
  return there;
}

absl::StatusOr<ResultOrKeys<GroupAnswer>> ModifyOnce(
    LeasedContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const KeySet& held, Lease lease);

/// The group is in no journal, as `absent` says.
absl::StatusOr<ResultOrKeys<GroupAnswer>> AdoptOnce(
    LeasedContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const KeySet& held, Lease lease,
    const absl::Status& absent) {
  auto group = GroupToAdopt(environment, request.group_id, request.user,
                            request.name_prefix);
  if (absl::IsNotFound(group.status())) {
    return absl::NotFoundError(
        absl::StrCat(absent.message(), "; ", group.status().message()));
  }
  ADDONS_RETURN_IF_ERROR(group.status());
  LocateGroup(environment, request.group_id.text(), *group);
  context.Aim(LeaseOf(*group));
  std::vector<VolumeHandle> volumes;
  for (const auto& [identity, id] :
       ByIdentity(environment.resolver, request.volumes)) {
    volumes.push_back(id);
  }
  ADDONS_RETURN_IF_ERROR(CheckMemberCount(environment.options, volumes.size()));
  if (lease == Lease::kNotYet) {
    ADDONS_RETURN_IF_ERROR(context.Take());
    return ModifyOnce(context, environment, request, held, Lease::kHeld);
  }
  context.Step("looking at the volumes");
  const std::vector<MemberView> members =
      LookAtMembers(environment, request.user, volumes, LookDeadline(context));
  ADDONS_RETURN_IF_ERROR(CheckMayAdopt(*group, members));

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(DuringChange(
      Adopt(context, environment, request.user, *std::move(group), members)));
  GroupAnswer answer;
  answer.group_id = request.group_id.text();
  for (const MemberView& view : members) {
    answer.volumes.push_back(ToAnswer(view));
  }
  return answer;
}

absl::StatusOr<ResultOrKeys<GroupAnswer>> ModifyOnce(
    LeasedContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const KeySet& held, Lease lease) {
  context.Step("reading the group");
  auto resolved = environment.resolver.ResolveGroup(
      request.group_id, request.user, Access::kMutate, LookDeadline(context));
  if (absl::IsNotFound(resolved.status()) && !request.volumes.empty()) {
    return AdoptOnce(context, environment, request, held, lease,
                     resolved.status());
  }
  ADDONS_ASSIGN_OR_RETURN(const ResolvedGroup group, std::move(resolved));
  LocateGroup(environment, request.group_id.text(), group);
  const auto wanted = ByIdentity(environment.resolver, request.volumes);
  const auto present = ByIdentity(environment.resolver, group.members());
  std::vector<VolumeHandle> added;
  std::vector<VolumeHandle> kept;
  for (const auto& [identity, id] : wanted) {
    (present.contains(identity) ? kept : added).push_back(id);
  }
  std::vector<VolumeHandle> removed;
  for (const VolumeHandle& id : group.members()) {
    // Each id of a volume that the journal has under two.
    if (!wanted.contains(Identity(environment.resolver, id))) {
      removed.push_back(id);
    }
  }
  // Who leaves can be deleted then.
  context.Aim(LeaseOf(group, /*although_full=*/added.empty()));
  GroupAnswer answer;
  answer.group_id = request.group_id.text();
  for (const VolumeHandle& id : kept)
    answer.volumes.push_back({id.text(), 0, {}});
  if (added.empty() && removed.empty()) return answer;

  if (auto keys = KeysToAdd(held, KeysOf(environment.resolver, removed))) {
    return *std::move(keys);
  }
  if (!added.empty()) {
    ADDONS_RETURN_IF_ERROR(
        CheckMemberCount(environment.options, wanted.size()));
  }
  if (lease == Lease::kNotYet) {
    ADDONS_RETURN_IF_ERROR(context.Take());
    return ModifyOnce(context, environment, request, held, Lease::kHeld);
  }
  context.Step("looking at the volumes");
  const auto look = [&](const std::vector<VolumeHandle>& volumes) {
    return LookAtMembers(environment, request.user, volumes,
                         LookDeadline(context));
  };
  const std::vector<MemberView> coming = look(added);
  for (const MemberView& view : coming) {
    ADDONS_RETURN_IF_ERROR(
        CheckMayJoin(group, view, absl::StatusCode::kInvalidArgument));
  }
  const std::vector<MemberView> leaving = look(removed);
  MembershipChange change{request.group_id, request.user, kept, added, {},
                          request.flatten};
  ADDONS_ASSIGN_OR_RETURN(change.removed,
                          WhoIsThere(environment.resolver, leaving));
  // They say whether the group is replicated.
  SeenMirroring seen;
  NoteSeen(look(kept), &seen);
  NoteSeen(coming, &seen);
  NoteSeen(leaving, &seen);
  ADDONS_RETURN_IF_ERROR(environment.replication.check(context, change, seen));

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(DuringChange(ChangeMembers(
      context, environment, group, change, seen, coming, leaving)));
  for (const MemberView& view : coming) {
    answer.volumes.push_back(ToAnswer(view));
  }
  return answer;
}

}  // namespace

absl::StatusOr<ResultOrKeys<GroupAnswer>> ModifyGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const KeySet& held) {
  return RunOnGroup(context, environment, "modify", [&](LeasedContext& leased) {
    return ModifyOnce(leased, environment, request, held, Lease::kNotYet);
  });
}

}  // namespace addons
