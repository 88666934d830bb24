#include "volumegroup/adopt.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volumegroup/group_history.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

struct Place {
  ResolvedGroup group;
  bool claimed = false;  // by an adoption, whose name it has
};

absl::StatusOr<Place> Find(const VolumeGroupEnvironment& environment,
                           const GroupHandle& group_id,
                           const CephUserRef& user) {
  Place found;
  ADDONS_ASSIGN_OR_RETURN(static_cast<ResolvedPlace&>(found.group),
                          environment.resolver.PlaceForGroup(group_id, user));
  ResolvedGroup& group = found.group;
  group.group_id = group_id;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(std::string claim,
                          GroupJournal(*pool).ReadClaim(group.uuid));
  found.claimed = absl::EndsWith(claim, group.uuid);
  group.attributes.group_name = std::move(claim);
  group.attributes.request_name = group.attributes.group_name;
  return found;
}

absl::Status Write(OperationContext& context,
                   const VolumeGroupEnvironment& environment,
                   const ResolvedGroup& group,
                   const std::vector<MemberView>& members) {
  const std::string& name = group.attributes.request_name;
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kMutate));
  GroupDirectory directory(*pool, environment.options.instance_id);
  GroupJournal journal(*pool);
  context.Step("reserving the name");
  ADDONS_ASSIGN_OR_RETURN(const bool fresh,
                          directory.Reserve(name, group.uuid));
  ADDONS_ASSIGN_OR_RETURN(const bool claimed, journal.Claim(group.uuid, name));
  if (!claimed) {
    if (fresh) {
      ADDONS_RETURN_IF_ERROR(directory.Release(name, group.uuid));
    }
    return absl::AbortedError(
        absl::StrCat("volume group '", group.group_id.text(),
                     "' is being written by another client; try again"));
  }
  context.Step("creating the rbd group");
  ADDONS_RETURN_IF_ERROR(group.MakeRbdGroup());
  context.Step("adding volumes");
  ADDONS_RETURN_IF_ERROR(
      FirstProblem(members, Attach(environment, group, members)));
  context.Step("writing the journal entry");
  return journal.Publish(group.uuid, group.attributes);
}

}  // namespace

absl::StatusOr<ResolvedGroup> GroupToAdopt(
    const VolumeGroupEnvironment& environment, const GroupHandle& group_id,
    const CephUserRef& user, const std::string& name_prefix) {
  ADDONS_ASSIGN_OR_RETURN(Place found, Find(environment, group_id, user));
  if (!found.claimed) {
    found.group.attributes.group_name =
        absl::StrCat(name_prefix, found.group.uuid);
    found.group.attributes.request_name = found.group.attributes.group_name;
  }
  return std::move(found.group);
}

absl::StatusOr<std::optional<ResolvedGroup>> HalfAdopted(
    const VolumeGroupEnvironment& environment, const GroupHandle& group_id,
    const CephUserRef& user) {
  auto found = Find(environment, group_id, user);
  if (absl::IsNotFound(found.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(found.status());
  if (!found->claimed) return std::nullopt;
  return std::move(found->group);
}

absl::Status CheckMayAdopt(const ResolvedGroup& group,
                           const std::vector<MemberView>& members) {
  for (const MemberView& view : members) {
    ADDONS_RETURN_IF_ERROR(
        Annotate(view.problem,
                 absl::StrCat("volume group '", group.group_id.text(),
                              "' is not in this site's journal, and is adopted "
                              "only when each of its volumes is here; nothing "
                              "was changed")));
    ADDONS_RETURN_IF_ERROR(
        CheckMayJoin(group, view, absl::StatusCode::kInvalidArgument));
  }
  return absl::OkStatus();
}

absl::Status Adopt(OperationContext& context,
                   const VolumeGroupEnvironment& environment,
                   const CephUserRef& user, ResolvedGroup group,
                   const std::vector<MemberView>& members) {
  group.attributes.creation_time = CreationTime(context.clock());
  for (const MemberView& view : members) {
    group.attributes.members.push_back(view.volume_id);
  }
  ADDONS_RETURN_IF_ERROR(Write(context, environment, group, members));
  Log().info("volume group adopted group={} volumes={}",
             Quoted(group.group_id.text()), members.size());
  NoteMembers(environment, group, user, Membership::kJoined, group.members(),
              members);
  return absl::OkStatus();
}

}  // namespace addons
