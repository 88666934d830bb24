#include "volumegroup/volumegroup_service.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/growing_keys.h"
#include "operation/run_operation.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volume/patience.h"
#include "volume/volume_id.h"
#include "volumegroup/create.h"
#include "volumegroup/delete.h"
#include "volumegroup/get.h"
#include "volumegroup/list.h"
#include "volumegroup/modify.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

namespace pb = ::volumegroup;
using Ids = google::protobuf::RepeatedPtrField<std::string>;

/// Each id once, in this order; none may be malformed.
absl::StatusOr<std::vector<VolumeHandle>> Volumes(const Ids& ids) {
  std::set<std::string> seen;
  std::vector<VolumeHandle> volumes;
  for (const std::string& id : ids) {
    VolumeHandle volume(id);
    ADDONS_RETURN_IF_ERROR(volume.id().status());
    if (seen.insert(id).second) volumes.push_back(std::move(volume));
  }
  return volumes;
}

/// The operation of a verb on a group that has an id. Its keys are those of the
/// group and of the volumes that the request names. Asks no cluster.
absl::StatusOr<OperationSpec> SpecOf(
    Resolver& resolver, absl::string_view verb, const GroupHandle& group_id,
    const CephUserRef& user, const GroupParameterMap& parameters = {},
    const std::vector<VolumeHandle>& volumes = {}) {
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          resolver.KeyOfGroup(group_id));
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(key.cluster_id);
  const KeySet keys = KeysOf(resolver, volumes);
  spec.keys.assign(keys.begin(), keys.end());
  spec.keys.push_back(key.ToString());
  spec.verb = std::string(verb);
  spec.object = absl::StrCat("volume group '", group_id.text(), "'");
  spec.parameters = CallFingerprint(verb, *user, parameters, Texts(volumes));
  spec.prove = [&resolver, group_id, user](OperationContext& context) {
    absl::Status found =
        resolver
            .ResolveGroup(group_id, user, Access::kRead,
                          context.DeadlineWithin(kReadPatience))
            .status();
    // Modify may adopt it, and the cluster has answered to the user.
    return absl::IsNotFound(found) ? absl::OkStatus() : found;
  };
  return spec;
}

void Fill(const GroupAnswer& group, pb::VolumeGroup* response) {
  response->set_volume_group_id(group.group_id);
  response->mutable_volume_group_context()->insert(group.context.begin(),
                                                   group.context.end());
  for (const GroupAnswer::Volume& volume : group.volumes) {
    auto* const entry = response->add_volumes();
    entry->set_volume_id(volume.volume_id);
    entry->set_capacity_bytes(static_cast<int64_t>(volume.capacity_bytes));
    entry->mutable_volume_context()->insert(volume.context.begin(),
                                            volume.context.end());
  }
}

/// What the history says of a call that has not been answered yet; `object` is
/// the group's id, or the name that it is to have.
HistoryEvent Asked(const std::string& verb, const std::string& object,
                   const CephUserRef& user, const CallContext& call) {
  HistoryEvent event;
  event.object = object;
  event.verb = absl::StrCat(verb, " group");
  event.user = user->id;
  event.request = call.caller.request_id;
  return event;
}

template <typename Response>
auto FillGroup(Response* response) {
  return [response](const absl::StatusOr<GroupAnswer>& group) {
    if (group.ok()) Fill(*group, response->mutable_volume_group());
    return group.status();
  };
}

}  // namespace

void VolumeGroupService::Record(HistoryEvent asked,
                                const absl::Status& status) const {
  if (environment_.history == nullptr) return;
  environment_.history->AddAnswered(std::move(asked), status);
}

grpc::ServerUnaryReactor* VolumeGroupService::CreateVolumeGroup(
    grpc::CallbackServerContext* context,
    const pb::CreateVolumeGroupRequest* request,
    pb::CreateVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        auto owned = std::make_shared<CreateGroupRequest>();
        owned->name = request->name();
        owned->parameter_map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(owned->parameters,
                                GroupParameters::Parse(owned->parameter_map));
        ADDONS_ASSIGN_OR_RETURN(owned->volumes, Volumes(request->volume_ids()));
        ADDONS_RETURN_IF_ERROR(
            CheckMemberCount(environment_.options, owned->volumes.size()));
        ADDONS_ASSIGN_OR_RETURN(owned->user,
                                UserFromSecrets(TakeSecrets(request->secrets()),
                                                SecretSource::kGroupClass));
        OperationSpec spec;
        const KeySet volumes = KeysOf(environment_.resolver, owned->volumes);
        spec.keys.assign(volumes.begin(), volumes.end());
        spec.keys.push_back(GroupNameKey(owned->parameters, owned->name));
        spec.share = WorkerShare::OfCluster(owned->parameters.cluster_id);
        spec.verb = "create";
        spec.object = absl::StrCat("volume group '", owned->name, "'");
        spec.parameters =
            CallFingerprint(spec.verb, *owned->user, owned->parameter_map,
                            Texts(owned->volumes));
        if (!owned->volumes.empty()) {
          spec.prove = [this, owned](OperationContext& operation) {
            return environment_.resolver
                .Resolve(owned->volumes.front(), owned->user, Access::kRead,
                         operation.DeadlineWithin(kReadPatience))
                .status();
          };
        }
        return RunWithGrowingKeys<GroupAnswer>(
                   operations_, std::move(spec), call.caller,
                   [this, owned](OperationContext& operation,
                                 const KeySet& held) {
                     return CreateGroup(operation, environment_, *owned, held);
                   })
            .Then(
                [this, asked = Asked("create", owned->name, owned->user, call)](
                    absl::StatusOr<GroupAnswer> group) mutable {
                  if (group.ok()) asked.object = group->group_id;
                  Record(std::move(asked), group.status());
                  return group;
                })
            .Then(FillGroup(response));
      });
}

grpc::ServerUnaryReactor* VolumeGroupService::ModifyVolumeGroupMembership(
    grpc::CallbackServerContext* context,
    const pb::ModifyVolumeGroupMembershipRequest* request,
    pb::ModifyVolumeGroupMembershipResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        auto owned = std::make_shared<ModifyGroupRequest>();
        ADDONS_RETURN_IF_ERROR(
            Require("volume_group_id", request->volume_group_id()));
        owned->group_id = GroupHandle(request->volume_group_id());
        const GroupParameterMap map = TakeParameters(request->parameters());
        // A group that is emptied, which comes before its end, needs none.
        if (!request->volume_ids().empty()) {
          ADDONS_RETURN_IF_ERROR(CheckGroupParameterKeys(map));
          ADDONS_ASSIGN_OR_RETURN(owned->name_prefix, ParseNamePrefix(map));
        }
        ADDONS_ASSIGN_OR_RETURN(owned->flatten, ParseFlattenMode(map));
        ADDONS_ASSIGN_OR_RETURN(owned->volumes, Volumes(request->volume_ids()));
        ADDONS_ASSIGN_OR_RETURN(owned->user,
                                UserFromSecrets(TakeSecrets(request->secrets()),
                                                SecretSource::kGroupClass));
        ADDONS_ASSIGN_OR_RETURN(
            OperationSpec spec,
            SpecOf(environment_.resolver, "modify", owned->group_id,
                   owned->user, map, owned->volumes));
        return RunWithGrowingKeys<GroupAnswer>(
                   operations_, std::move(spec), call.caller,
                   [this, owned](OperationContext& operation,
                                 const KeySet& held) {
                     return ModifyGroup(operation, environment_, *owned, held);
                   })
            .Then([this, asked = Asked("modify", owned->group_id.text(),
                                       owned->user, call)](
                      absl::StatusOr<GroupAnswer> group) mutable {
              Record(std::move(asked), group.status());
              return group;
            })
            .Then(FillGroup(response));
      });
}

grpc::ServerUnaryReactor* VolumeGroupService::DeleteVolumeGroup(
    grpc::CallbackServerContext* context,
    const pb::DeleteVolumeGroupRequest* request,
    pb::DeleteVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        auto owned = std::make_shared<DeleteGroupRequest>();
        ADDONS_RETURN_IF_ERROR(
            Require("volume_group_id", request->volume_group_id()));
        owned->group_id = GroupHandle(request->volume_group_id());
        ADDONS_ASSIGN_OR_RETURN(owned->user,
                                UserFromSecrets(TakeSecrets(request->secrets()),
                                                SecretSource::kGroupClass));
        ADDONS_ASSIGN_OR_RETURN(const OperationSpec spec,
                                SpecOf(environment_.resolver, "delete",
                                       owned->group_id, owned->user));
        return RunOperation(operations_, spec, call.caller,
                            [this, owned](OperationContext& operation) {
                              return DeleteGroup(operation, environment_,
                                                 *owned);
                            })
            .Then([this,
                   asked = Asked("delete", owned->group_id.text(), owned->user,
                                 call)](const absl::Status& deleted) mutable {
              Record(std::move(asked), deleted);
              return deleted;
            });
      });
}

grpc::ServerUnaryReactor* VolumeGroupService::ListVolumeGroups(
    grpc::CallbackServerContext* context,
    const pb::ListVolumeGroupsRequest* request,
    pb::ListVolumeGroupsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        if (request->max_entries() < 0) {
          return InvalidField("max_entries", "is negative");
        }
        auto owned = std::make_shared<ListGroupsRequest>();
        owned->max_entries = static_cast<size_t>(request->max_entries());
        owned->starting_token = request->starting_token();
        ADDONS_ASSIGN_OR_RETURN(owned->user,
                                UserFromSecrets(TakeSecrets(request->secrets()),
                                                SecretSource::kGroupClass));
        OperationSpec spec;
        spec.verb = "list";
        spec.object = "volume groups";
        spec.parameters = CallFingerprint(
            spec.verb, *owned->user, {},
            {absl::StrCat(owned->max_entries), owned->starting_token});
        MakeRead(&spec);
        return RunOperation<GroupPage>(
                   operations_, spec, call.caller,
                   [this, owned](OperationContext& /*operation*/) {
                     return ListGroups(environment_, *owned);
                   })
            .Then([response](const absl::StatusOr<GroupPage>& page) {
              if (!page.ok()) return page.status();
              for (const GroupAnswer& group : page->groups) {
                Fill(group, response->add_entries()->mutable_volume_group());
              }
              response->set_next_token(page->next_token);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* VolumeGroupService::ControllerGetVolumeGroup(
    grpc::CallbackServerContext* context,
    const pb::ControllerGetVolumeGroupRequest* request,
    pb::ControllerGetVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_RETURN_IF_ERROR(
            Require("volume_group_id", request->volume_group_id()));
        const GroupHandle group_id(request->volume_group_id());
        ADDONS_ASSIGN_OR_RETURN(const CephUserRef user,
                                UserFromSecrets(TakeSecrets(request->secrets()),
                                                SecretSource::kGroupClass));
        ADDONS_ASSIGN_OR_RETURN(
            OperationSpec spec,
            SpecOf(environment_.resolver, "get", group_id, user));
        MakeRead(&spec);
        return RunOperation<GroupAnswer>(
                   operations_, spec, call.caller,
                   [this, user, group_id](OperationContext& operation) {
                     return GetGroup(environment_, group_id, user,
                                     operation.DeadlineWithin(kReadPatience));
                   })
            .Then(FillGroup(response));
      });
}

}  // namespace addons
