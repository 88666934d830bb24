#include "volumegroup/volumegroup_service.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volumegroup/create.h"
#include "volumegroup/delete.h"
#include "volumegroup/get.h"
#include "volumegroup/keyed_run.h"
#include "volumegroup/list.h"
#include "volumegroup/modify.h"
#include "volumegroup/verb_support.h"

namespace addons {
namespace {

namespace pb = ::volumegroup;
using Ids = google::protobuf::RepeatedPtrField<std::string>;

constexpr std::chrono::seconds kReadPatience{60};

/// Each id once, in this order; none may be malformed.
absl::StatusOr<std::vector<std::string>> VolumeIds(const Ids& ids) {
  std::set<std::string> seen;
  std::vector<std::string> volume_ids;
  for (const std::string& id : ids) {
    ADDONS_RETURN_IF_ERROR(VolumeId::Parse(id).status());
    if (seen.insert(id).second) volume_ids.push_back(id);
  }
  return volume_ids;
}

/// The operation of a verb on a group that has an id. Its keys are those of the
/// group and of the volumes that the request names. Asks no cluster.
absl::StatusOr<OperationSpec> SpecOf(
    Resolver& resolver, absl::string_view verb, const std::string& group_id,
    const CephUser& user, const GroupParameterMap& parameters = {},
    const std::vector<std::string>& volume_ids = {}) {
  ADDONS_ASSIGN_OR_RETURN(std::string key,
                          resolver.GroupOperationKey(group_id));
  OperationSpec spec;
  spec.cluster = key.substr(0, key.find('/'));
  const std::set<std::string> volumes = KeysOf(resolver, volume_ids);
  spec.keys.assign(volumes.begin(), volumes.end());
  spec.keys.push_back(std::move(key));
  spec.verb = std::string(verb);
  spec.object = absl::StrCat("volume group '", group_id, "'");
  spec.parameters = CallFingerprint(verb, user, parameters, volume_ids);
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

}  // namespace

grpc::Status VolumeGroupService::CreateVolumeGroup(
    grpc::ServerContext* context, const pb::CreateVolumeGroupRequest* request,
    pb::CreateVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> absl::Status {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        auto owned = std::make_shared<CreateGroupRequest>();
        owned->name = request->name();
        owned->parameter_map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(owned->parameters,
                                GroupParameters::Parse(owned->parameter_map));
        ADDONS_ASSIGN_OR_RETURN(owned->volume_ids,
                                VolumeIds(request->volume_ids()));
        ADDONS_RETURN_IF_ERROR(
            CheckMemberCount(environment_.options, owned->volume_ids.size()));
        ADDONS_ASSIGN_OR_RETURN(
            owned->user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        const std::set<std::string> volumes =
            KeysOf(environment_.resolver, owned->volume_ids);
        spec.keys.assign(volumes.begin(), volumes.end());
        spec.keys.push_back(GroupNameKey(owned->parameters, owned->name));
        spec.cluster = absl::StrCat(owned->parameters.cluster_id.size(), ":",
                                    owned->parameters.cluster_id);
        spec.verb = "create";
        spec.object = absl::StrCat("volume group '", owned->name, "'");
        spec.parameters = CallFingerprint(
            spec.verb, owned->user, owned->parameter_map, owned->volume_ids);
        ADDONS_ASSIGN_OR_RETURN(
            const GroupAnswer group,
            RunWithKeys(operations_, std::move(spec), call.caller,
                        [this, owned](OperationContext& operation,
                                      const HeldKeys& held) {
                          return CreateGroup(operation, environment_, *owned,
                                             held);
                        }));
        Fill(group, response->mutable_volume_group());
        return absl::OkStatus();
      });
}

grpc::Status VolumeGroupService::ModifyVolumeGroupMembership(
    grpc::ServerContext* context,
    const pb::ModifyVolumeGroupMembershipRequest* request,
    pb::ModifyVolumeGroupMembershipResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> absl::Status {
        auto owned = std::make_shared<ModifyGroupRequest>();
        owned->group_id = request->volume_group_id();
        ADDONS_RETURN_IF_ERROR(Require("volume_group_id", owned->group_id));
        const GroupParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(owned->flatten, ParseFlattenMode(map));
        ADDONS_ASSIGN_OR_RETURN(owned->volume_ids,
                                VolumeIds(request->volume_ids()));
        ADDONS_ASSIGN_OR_RETURN(
            owned->user, UserFromSecrets(TakeSecrets(request->secrets())));
        ADDONS_ASSIGN_OR_RETURN(
            OperationSpec spec,
            SpecOf(environment_.resolver, "modify", owned->group_id,
                   owned->user, map, owned->volume_ids));
        ADDONS_ASSIGN_OR_RETURN(
            const GroupAnswer group,
            RunWithKeys(operations_, std::move(spec), call.caller,
                        [this, owned](OperationContext& operation,
                                      const HeldKeys& held) {
                          return ModifyGroup(operation, environment_, *owned,
                                             held);
                        }));
        Fill(group, response->mutable_volume_group());
        return absl::OkStatus();
      });
}

grpc::Status VolumeGroupService::DeleteVolumeGroup(
    grpc::ServerContext* context, const pb::DeleteVolumeGroupRequest* request,
    pb::DeleteVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> absl::Status {
        auto owned = std::make_shared<DeleteGroupRequest>();
        owned->group_id = request->volume_group_id();
        ADDONS_RETURN_IF_ERROR(Require("volume_group_id", owned->group_id));
        ADDONS_ASSIGN_OR_RETURN(
            owned->user, UserFromSecrets(TakeSecrets(request->secrets())));
        auto spec = SpecOf(environment_.resolver, "delete", owned->group_id,
                           owned->user);
        if (absl::IsNotFound(spec.status())) {
          // Without its cluster nobody knows whether the group is gone.
          return absl::FailedPreconditionError(spec.status().message());
        }
        ADDONS_RETURN_IF_ERROR(spec.status());
        return RunWithKeys(operations_, *std::move(spec), call.caller,
                           [this, owned](OperationContext& operation,
                                         const HeldKeys& /*held*/) {
                             return DeleteGroup(operation, environment_,
                                                *owned);
                           })
            .status();
      });
}

grpc::Status VolumeGroupService::ListVolumeGroups(
    grpc::ServerContext* context, const pb::ListVolumeGroupsRequest* request,
    pb::ListVolumeGroupsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> absl::Status {
        if (request->max_entries() < 0) {
          return InvalidField("max_entries", "is negative");
        }
        auto owned = std::make_shared<ListGroupsRequest>();
        owned->max_entries = static_cast<size_t>(request->max_entries());
        owned->starting_token = request->starting_token();
        ADDONS_ASSIGN_OR_RETURN(
            owned->user, UserFromSecrets(TakeSecrets(request->secrets())));
        OperationSpec spec;
        spec.verb = "list";
        spec.object = "volume groups";
        spec.parameters = CallFingerprint(
            spec.verb, owned->user, {},
            {absl::StrCat(owned->max_entries), owned->starting_token});
        MakeRead(&spec);
        ADDONS_ASSIGN_OR_RETURN(
            const GroupPage page,
            RunOperation<GroupPage>(
                operations_, spec, call.caller,
                [this, owned](OperationContext& /*operation*/) {
                  return ListGroups(environment_, *owned);
                }));
        for (const GroupAnswer& group : page.groups) {
          Fill(group, response->add_entries()->mutable_volume_group());
        }
        response->set_next_token(page.next_token);
        return absl::OkStatus();
      });
}

grpc::Status VolumeGroupService::ControllerGetVolumeGroup(
    grpc::ServerContext* context,
    const pb::ControllerGetVolumeGroupRequest* request,
    pb::ControllerGetVolumeGroupResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> absl::Status {
        const std::string& group_id = request->volume_group_id();
        ADDONS_RETURN_IF_ERROR(Require("volume_group_id", group_id));
        ADDONS_ASSIGN_OR_RETURN(
            CephUser user, UserFromSecrets(TakeSecrets(request->secrets())));
        ADDONS_ASSIGN_OR_RETURN(
            OperationSpec spec,
            SpecOf(environment_.resolver, "get", group_id, user));
        MakeRead(&spec);
        const auto owned = std::make_shared<const CephUser>(std::move(user));
        ADDONS_ASSIGN_OR_RETURN(
            const GroupAnswer group,
            RunOperation<GroupAnswer>(
                operations_, spec, call.caller,
                [this, owned, group_id](OperationContext& operation) {
                  return GetGroup(environment_, group_id, *owned,
                                  operation.DeadlineWithin(kReadPatience));
                }));
        Fill(group, response->mutable_volume_group());
        return absl::OkStatus();
      });
}

}  // namespace addons
