#include "volumegroup/create.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "ceph/pool.h"
#include "lease/leased_context.h"
#include "volume/group_directory.h"
#include "volume/group_journal.h"
#include "volume/home_clusters.h"
#include "volume/pools.h"
#include "volume/volume_id.h"
#include "volumegroup/change_members.h"
#include "volumegroup/group_history.h"
#include "volumegroup/members.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

/// What is there of the group before anything is changed.
struct Found {
  ResolvedGroup group;     // uuid empty: the name is free
  bool has_names = false;  // its object is there with its names
};

std::string Describe(const CreateGroupRequest& request) {
  return absl::StrCat("volume group '", request.name, "'");
}

absl::StatusOr<GroupHandle> ComposeId(const CreateGroupRequest& request,
                                      const ResolvedGroup& group) {
  VolumeId id;
  id.cluster_id = request.parameters.cluster_id;
  id.pool_id = group.pool_id;
  id.uuid = group.uuid;
  ADDONS_ASSIGN_OR_RETURN(std::string text, id.ToString());
  return GroupHandle(std::move(text));
}

/// Cluster, pool and namespace that the parameters name.
absl::StatusOr<ResolvedPlace> FindPlace(
    const VolumeGroupEnvironment& environment,
    const CreateGroupRequest& request) {
  const GroupParameters& parameters = request.parameters;
  if (!IsHome(environment.options.home, parameters.cluster_id)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "parameters[clusterID] '", parameters.cluster_id.text(),
        "' is not one of --site-clusters (",
        absl::StrJoin(environment.options.home, ", ", AppendClusterId),
        "), and groups are created on this site's clusters only"));
  }
  ADDONS_ASSIGN_OR_RETURN(const auto config, environment.config.Current());
  const auto entry = config->Find(parameters.cluster_id);
  if (absl::IsNotFound(entry.status())) {
    return absl::InvalidArgumentError(absl::StrCat("parameters[clusterID] '",
                                                   parameters.cluster_id.text(),
                                                   "' is not in config.json"));
  }
  ADDONS_RETURN_IF_ERROR(entry.status());
  ResolvedPlace place;
  place.cluster_id = (*entry)->cluster_id;
  place.rados_namespace = (*entry)->rados_namespace;
  place.pool_name = parameters.pool;
  ADDONS_ASSIGN_OR_RETURN(
      place.cluster, environment.clusters.Connect(
                         {place.cluster_id, (*entry)->monitors}, request.user));
  ADDONS_ASSIGN_OR_RETURN(const auto pools, ListPools(*place.cluster));
  for (const auto& [id, name] : pools) {
    if (name != parameters.pool) continue;
    place.pool_id = id;
    return place;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "parameters[pool] '", parameters.pool, "' is not a pool of cluster '",
      place.cluster_id.text(), "'"));
}

absl::StatusOr<Found> FindGroup(const VolumeGroupEnvironment& environment,
                                const CreateGroupRequest& request) {
  Found found;
  ADDONS_ASSIGN_OR_RETURN(static_cast<ResolvedPlace&>(found.group),
                          FindPlace(environment, request));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          found.group.OpenPool(Access::kRead));
  GroupDirectory directory(*pool, environment.options.instance_id);
  ADDONS_ASSIGN_OR_RETURN(const auto uuid, directory.Find(request.name));
  if (!uuid.has_value()) return found;
  found.group.uuid = *uuid;
  ADDONS_ASSIGN_OR_RETURN(found.group.group_id,
                          ComposeId(request, found.group));
  auto attributes = GroupJournal(*pool).Read(*uuid);
  if (absl::IsInvalidArgument(attributes.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(Describe(request),
                     ": the name is taken: ", attributes.status().message()));
  }
  if (absl::IsNotFound(attributes.status())) return found;
  ADDONS_ASSIGN_OR_RETURN(found.group.attributes, std::move(attributes));
  if (found.group.attributes.request_name != request.name) {
    return absl::InternalError(
        absl::StrCat("the journal contradicts itself: the directory of pool '",
                     request.parameters.pool, "' says that group '", *uuid,
                     "' has the name '", request.name, "', its object says '",
                     found.group.attributes.request_name, "'"));
  }
  if (!request.parameters.Fits(found.group.attributes.group_name, *uuid)) {
    return absl::AlreadyExistsError(absl::StrCat(
        Describe(request), " exists with other parameters: its rbd group is '",
        found.group.attributes.group_name,
        "', volumeGroupNamePrefix asks for '", request.parameters.name_prefix,
        "'"));
  }
  found.has_names = true;
  return found;
}

/// `refusal`, which rests on what `found` says; ABORTED when another daemon has
/// gone on with the group of this name since: its images are in its rbd group.
absl::Status IfStillSo(const absl::Status& refusal,
                       const VolumeGroupEnvironment& environment,
                       const CreateGroupRequest& request, const Found& found) {
  ADDONS_ASSIGN_OR_RETURN(const Found now, FindGroup(environment, request));
  if (now.group.uuid == found.group.uuid && now.has_names == found.has_names) {
    return refusal;
  }
  return absl::AbortedError(absl::StrCat(
      Describe(request), " is being created by another client; try again"));
}

/// Removes what a creation that failed has made, in the opposite order. Where
/// that fails, too, the same Create finds the rest.
void Undo(Pool& pool, GroupDirectory& directory, const ResolvedGroup& group) {
  absl::Status undone = pool.RemoveGroup(group.attributes.group_name);
  if (undone.ok()) undone = GroupJournal(pool).Remove(group.uuid);
  if (undone.ok()) {
    undone = directory.Release(group.attributes.request_name, group.uuid);
  }
  if (!undone.ok()) {
    Log().warn("group {} is left half made: {}", group.uuid,
               std::string(undone.message()));
  }
}

/// Makes what is missing of the group itself; where the name is free, with the
/// uuid `fresh_uuid`.
absl::Status MakeGroup(OperationContext& context,
                       const VolumeGroupEnvironment& environment,
                       const CreateGroupRequest& request,
                       const std::string& fresh_uuid, Found& found) {
  ResolvedGroup& group = found.group;
  if (found.has_names) return group.MakeRbdGroup();
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kMutate));
  context.Step("reserving the name");
  GroupDirectory directory(*pool, environment.options.instance_id);
  const bool fresh = group.uuid.empty();
  if (fresh) {
    group.uuid = fresh_uuid;
    ADDONS_ASSIGN_OR_RETURN(group.group_id, ComposeId(request, group));
    ADDONS_ASSIGN_OR_RETURN(const bool reserved,
                            directory.Reserve(request.name, group.uuid));
    if (!reserved) {
      return absl::AbortedError(absl::StrCat(
          Describe(request), " is being created by another client; try again"));
    }
  }
  group.attributes.request_name = request.name;
  group.attributes.group_name =
      absl::StrCat(request.parameters.name_prefix, group.uuid);
  group.attributes.creation_time = CreationTime(context.clock());
  absl::Status made = GroupJournal(*pool).Create(group.uuid, group.attributes);
  if (made.ok()) {
    context.Step("creating the rbd group");
    made = group.MakeRbdGroup();
  }
  if (!made.ok() && fresh) Undo(*pool, directory, group);
  return made;
}

/// The lease on the group, which has `fresh_uuid` when it is made now.
LeaseTarget LeaseFor(const CreateGroupRequest& request,
                     const ResolvedGroup& group,
                     const std::string& fresh_uuid) {
  ResolvedGroup place = group;
  if (place.uuid.empty()) place.uuid = fresh_uuid;
  LeaseTarget target = LeaseOf(place);
  target.text = Describe(request);
  return target;
}

absl::StatusOr<ResultOrKeys<GroupAnswer>> CreateOnce(
    LeasedContext& context, const VolumeGroupEnvironment& environment,
    const CreateGroupRequest& request, const KeySet& held,
    const std::string& fresh_uuid, Lease lease) {
  context.Step("looking");
  ADDONS_ASSIGN_OR_RETURN(Found found, FindGroup(environment, request));
  ResolvedGroup& group = found.group;
  LocateGroup(environment, request.name, group);
  if (!group.uuid.empty()) {
    ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                            environment.resolver.KeyOfGroup(group.group_id));
    if (auto keys = KeysToAdd(held, {key.ToString()})) return *std::move(keys);
  }
  context.Aim(LeaseFor(request, group, fresh_uuid));
  auto members = ByIdentity(environment.resolver, group.members());
  std::vector<VolumeHandle> added;
  for (const auto& [identity, id] :
       ByIdentity(environment.resolver, request.volumes)) {
    if (members.try_emplace(identity, id).second) added.push_back(id);
  }
  if (!added.empty()) {
    ADDONS_RETURN_IF_ERROR(
        CheckMemberCount(environment.options, members.size()));
  }
  if (!added.empty() && lease == Lease::kNotYet) {
    ADDONS_RETURN_IF_ERROR(context.Take());
    return CreateOnce(context, environment, request, held, fresh_uuid,
                      Lease::kHeld);
  }
  const std::vector<MemberView> views =
      LookAtMembers(environment, request.user, added, LookDeadline(context));
  for (const MemberView& view : views) {
    const absl::Status fit =
        CheckMayJoin(group, view, absl::StatusCode::kFailedPrecondition);
    if (!fit.ok()) return IfStillSo(fit, environment, request, found);
  }
  const MembershipChange change{
      group.group_id,   request.user, group.members(),
      std::move(added), {},           request.parameters.flatten};
  SeenMirroring seen;
  NoteSeen(views, &seen);
  ADDONS_RETURN_IF_ERROR(environment.replication.check(context, change, seen));

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(DuringChange(
      MakeGroup(context, environment, request, fresh_uuid, found)));
  ADDONS_RETURN_IF_ERROR(DuringChange(
      ChangeMembers(context, environment, group, change, seen, views, {})));

  LocateGroup(environment, group.group_id.text(), group);
  GroupAnswer answer;
  answer.group_id = group.group_id.text();
  answer.context = request.parameter_map;
  for (const MemberView& view : views) {
    answer.volumes.push_back(ToAnswer(view));
  }
  for (const VolumeHandle& id : group.members()) {
    answer.volumes.push_back({id.text(), 0, {}});
  }
  return answer;
}

}  // namespace

std::string GroupNameKey(const GroupParameters& parameters,
                         const std::string& name) {
  const std::string& cluster = parameters.cluster_id.text();
  return absl::StrCat("group-name/", cluster.size(), ":", cluster, "/",
                      parameters.pool.size(), ":", parameters.pool, "/", name);
}

absl::StatusOr<ResultOrKeys<GroupAnswer>> CreateGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const CreateGroupRequest& request, const KeySet& held) {
  return RunOnGroup(context, environment, "create",
                    [&, uuid = NewUuid()](LeasedContext& leased) {
                      return CreateOnce(leased, environment, request, held,
                                        uuid, Lease::kNotYet);
                    });
}

}  // namespace addons
