#include "replication/replication_service.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/demote.h"
#include "replication/disable.h"
#include "replication/enable.h"
#include "replication/group_demote.h"
#include "replication/group_destination.h"
#include "replication/group_disable.h"
#include "replication/group_enable.h"
#include "replication/group_info.h"
#include "replication/group_operations.h"
#include "replication/group_promote.h"
#include "replication/group_resync.h"
#include "replication/info.h"
#include "replication/promote.h"
#include "replication/replication_service_call.h"
#include "replication/resync.h"
#include "rpc/parameters.h"

namespace addons {
namespace {

namespace pb = ::replication;

GroupCall OnGroup(const SourceCall& call) {
  return {call.target.volume_id, call.target.user.Clone(), call.spec};
}

/// The same for a group.
absl::Status RunGroupVerb(
    OperationTable& operations, Resolver& resolver, const SourceCall& call,
    const CallContext& rpc_call,
    std::function<absl::Status(OperationContext&, const GroupTarget&)> verb) {
  return RunOnGroup<std::monostate>(
             operations, resolver, OnGroup(call), rpc_call.caller,
             [verb = std::move(verb)](
                 OperationContext& context,
                 const GroupTarget& target) -> absl::StatusOr<std::monostate> {
               ADDONS_RETURN_IF_ERROR(verb(context, target));
               return std::monostate();
             })
      .status();
}

/// How long a read without a deadline of its own may take.
constexpr std::chrono::seconds kReadPatience{60};

absl::StatusOr<ReplicationInfo> ReadGroupInfo(
    ReplicationEnvironment& environment, const VolumeTarget& group,
    SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      std::vector<std::string> members,
      ReadGroupMembers(environment.resolver, group.volume_id, group.user,
                       deadline));
  return GetGroupReplicationInfo(
      environment, {group.volume_id, group.user.Clone(), std::move(members)},
      deadline);
}

void Fill(const ReplicationInfo& info,
          pb::GetVolumeReplicationInfoResponse* response) {
  using Response = pb::GetVolumeReplicationInfoResponse;
  switch (info.health) {
    case ReplicationHealth::kHealthy:
      response->set_status(Response::HEALTHY);
      break;
    case ReplicationHealth::kDegraded:
      response->set_status(Response::DEGRADED);
      break;
    case ReplicationHealth::kError:
      response->set_status(Response::ERROR);
      break;
  }
  response->set_status_message(info.message);
  if (info.last_sync_time.has_value()) {
    response->mutable_last_sync_time()->set_seconds(*info.last_sync_time);
  }
  if (info.last_sync_seconds.has_value()) {
    response->mutable_last_sync_duration()->set_seconds(
        *info.last_sync_seconds);
  }
  if (info.last_sync_bytes.has_value()) {
    response->set_last_sync_bytes(*info.last_sync_bytes);
  }
}

}  // namespace

ReplicationService::ReplicationService(Rpc& rpc, OperationTable& operations,
                                       ReplicationEnvironment& environment)
    : rpc_(rpc),
      operations_(operations),
      environment_(environment),
      destinations_(environment_) {}

grpc::Status ReplicationService::EnableVolumeReplication(
    grpc::ServerContext* context,
    const pb::EnableVolumeReplicationRequest* request,
    pb::EnableVolumeReplicationResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        const ParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        ADDONS_ASSIGN_OR_RETURN(SourceCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "enable replication", map));
        if (call.is_group) {
          ADDONS_RETURN_IF_ERROR(CheckGroupReplication(map));
          return RunGroupVerb(
              operations_, environment_.resolver, call, rpc_call,
              [this, parameters](OperationContext& operation,
                                 const GroupTarget& target) {
                return EnableGroup(operation, environment_, target, parameters);
              });
        }
        return RunVerb(operations_, call.spec, rpc_call.caller, environment_,
                       EnableRequest{std::move(call.target), parameters},
                       &Enable);
      });
}

grpc::Status ReplicationService::DisableVolumeReplication(
    grpc::ServerContext* context,
    const pb::DisableVolumeReplicationRequest* request,
    pb::DisableVolumeReplicationResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        const ParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        auto call = PrepareCall(environment_.resolver, *request,
                                "disable replication", map);
        if (absl::IsNotFound(call.status())) {
          // NOT_FOUND means "done" to the operator; a gap in the configuration
          // must not end with the volume still being mirrored.
          return absl::UnavailableError(call.status().message());
        }
        ADDONS_RETURN_IF_ERROR(call.status());
        call->spec.supersedes = true;
        if (call->is_group) {
          return RunGroupVerb(operations_, environment_.resolver, *call,
                              rpc_call,
                              [this, parameters](OperationContext& operation,
                                                 const GroupTarget& target) {
                                return DisableGroup(operation, environment_,
                                                    target, parameters);
                              });
        }
        return RunVerb(operations_, call->spec, rpc_call.caller, environment_,
                       DisableRequest{std::move(call->target), parameters},
                       &Disable);
      });
}

grpc::Status ReplicationService::PromoteVolume(
    grpc::ServerContext* context, const pb::PromoteVolumeRequest* request,
    pb::PromoteVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        const ParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request,
                        request->force() ? "promote by force" : "promote",
                        map));
        call.spec.supersedes = request->force();
        const Force force = request->force() ? Force::kYes : Force::kNo;
        if (call.is_group) {
          return RunGroupVerb(
              operations_, environment_.resolver, call, rpc_call,
              [this, force, parameters](OperationContext& operation,
                                        const GroupTarget& target) {
                return PromoteGroup(operation, environment_, target, force,
                                    parameters);
              });
        }
        return RunVerb(
            operations_, call.spec, rpc_call.caller, environment_,
            PromoteRequest{std::move(call.target), force, parameters},
            &Promote);
      });
}

grpc::Status ReplicationService::DemoteVolume(
    grpc::ServerContext* context, const pb::DemoteVolumeRequest* request,
    pb::DemoteVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request, "demote"));
        call.spec.supersedes = true;
        if (call.is_group) {
          return RunGroupVerb(
              operations_, environment_.resolver, call, rpc_call,
              [this](OperationContext& operation, const GroupTarget& target) {
                return DemoteGroup(operation, environment_, target);
              });
        }
        return RunVerb(operations_, call.spec, rpc_call.caller, environment_,
                       DemoteRequest{std::move(call.target)}, &Demote);
      });
}

grpc::Status ReplicationService::ResyncVolume(
    grpc::ServerContext* context, const pb::ResyncVolumeRequest* request,
    pb::ResyncVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request,
                        request->force() ? "resync by force" : "resync"));
        call.spec.supersedes = true;
        const Force force = request->force() ? Force::kYes : Force::kNo;
        const std::string object = call.spec.object;
        ADDONS_ASSIGN_OR_RETURN(const ResyncResult result,
                                RunResync(std::move(call), force, rpc_call));
        response->set_ready(result.ready);
        Log().info("resync of {}: ready={} {}", object, result.ready,
                   result.message);
        return absl::OkStatus();
      });
}

absl::StatusOr<ResyncResult> ReplicationService::RunResync(
    SourceCall call, Force force, const CallContext& rpc_call) {
  if (call.is_group) {
    return RunOnGroup<ResyncResult>(
        operations_, environment_.resolver, OnGroup(call), rpc_call.caller,
        [this, force](OperationContext& operation, const GroupTarget& target) {
          return ResyncGroup(operation, environment_, target, force);
        });
  }
  auto owned = std::make_shared<const ResyncRequest>(
      ResyncRequest{std::move(call.target), force});
  return RunOperation<ResyncResult>(operations_, call.spec, rpc_call.caller,
                                    [this, owned](OperationContext& operation) {
                                      return Resync(operation, environment_,
                                                    *owned);
                                    });
}

grpc::Status ReplicationService::GetVolumeReplicationInfo(
    grpc::ServerContext* context,
    const pb::GetVolumeReplicationInfoRequest* request,
    pb::GetVolumeReplicationInfoResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request, "replication info"));
        MakeRead(&call.spec);
        auto target =
            std::make_shared<const VolumeTarget>(std::move(call.target));
        ADDONS_ASSIGN_OR_RETURN(
            const ReplicationInfo info,
            RunOperation<ReplicationInfo>(
                operations_, call.spec, rpc_call.caller,
                [this, target,
                 is_group = call.is_group](OperationContext& operation) {
                  const SteadyTime deadline =
                      operation.DeadlineWithin(kReadPatience);
                  return is_group
                             ? ReadGroupInfo(environment_, *target, deadline)
                             : GetReplicationInfo(environment_, *target,
                                                  deadline);
                }));
        Fill(info, response);
        return absl::OkStatus();
      });
}

grpc::Status ReplicationService::GetReplicationDestinationInfo(
    grpc::ServerContext* context,
    const pb::GetReplicationDestinationInfoRequest* request,
    pb::GetReplicationDestinationInfoResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(SourceCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "replication destination"));
        MakeRead(&call.spec);
        auto target =
            std::make_shared<const VolumeTarget>(std::move(call.target));
        auto* destination = response->mutable_replication_destination();
        if (call.is_group) {
          ADDONS_ASSIGN_OR_RETURN(
              const GroupDestination found,
              RunOperation<GroupDestination>(
                  operations_, call.spec, rpc_call.caller,
                  [this, target](OperationContext& operation) {
                    return FindGroupDestination(
                        environment_, destinations_, target->volume_id,
                        target->user, operation.DeadlineWithin(kReadPatience));
                  }));
          auto* group = destination->mutable_volumegroup();
          group->set_volume_group_id(found.group_id);
          group->mutable_volume_ids()->insert(found.volume_ids.begin(),
                                              found.volume_ids.end());
          return absl::OkStatus();
        }
        ADDONS_ASSIGN_OR_RETURN(
            const std::string id,
            RunOperation<std::string>(
                operations_, call.spec, rpc_call.caller,
                [this, target](OperationContext& operation) {
                  return destinations_.Find(
                      *target, operation.DeadlineWithin(kReadPatience));
                }));
        destination->mutable_volume()->set_volume_id(id);
        return absl::OkStatus();
      });
}

}  // namespace addons
