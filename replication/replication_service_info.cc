// The calls of replication that only ask: replication/replication_service.h
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/group/destination.h"
#include "replication/group/info.h"
#include "replication/replication_service.h"
#include "replication/replication_service_call.h"
#include "replication/steps/info.h"
#include "replication/steps/upkeep.h"
#include "rpc/text.h"
#include "volume/patience.h"

namespace addons {
namespace {

namespace pb = ::replication;

/// How long replication info waits for what it makes up for; that goes on
/// without it once it has begun.
constexpr std::chrono::seconds kUpkeepPatience{2};

void NoteGroup(WatchedClusters& watched, const GroupHandle& group_id,
               const std::vector<VolumeHandle>& members) {
  WatchedGroup group{group_id.text(), {}};
  for (const VolumeHandle& member : members) {
    group.members.push_back(member.text());
  }
  watched.NoteGroup(std::move(group));
}

absl::StatusOr<ReplicationInfo> ReadGroupInfo(
    ReplicationEnvironment& environment, WatchedClusters& watched,
    const GroupHandle& group_id, const CephUserRef& user, SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      JournalMembers members,
      ReadGroupMembers(environment.resolver, group_id, user, deadline));
  NoteGroup(watched, group_id, members.volumes);
  return GetGroupReplicationInfo(
      environment,
      {group_id, user, std::move(members.volumes), std::move(members.place)},
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
  // It repeats what rbd-mirror wrote, and a client cannot read an answer with
  // broken UTF-8.
  response->set_status_message(CleanLine(info.message, kMaxTextBytes));
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

Later<absl::StatusOr<ReplicationInfo>> ReplicationService::ReadInfo(
    const SourceCall& call, const Caller& caller) {
  return RunOperation<ReplicationInfo>(
      operations_, call.spec, caller,
      [this, is_group = call.is_group, target = call.target,
       group_id = call.group_id](OperationContext& operation) {
        const SteadyTime deadline = operation.DeadlineWithin(kReadPatience);
        return is_group ? ReadGroupInfo(environment_, watched_, group_id,
                                        target.user, deadline)
                        : GetReplicationInfo(environment_, target, deadline);
      });
}

Later<bool> ReplicationService::RunUpkeep(Upkeep upkeep) {
  if (upkeep.next == upkeep.volumes.size() ||
      RealClock().Now() >= *upkeep.caller.deadline) {
    return upkeep.any;
  }
  const VolumeHandle volume_id = upkeep.volumes[upkeep.next];
  const VolumeTarget target{volume_id, upkeep.user};
  const Caller caller = upkeep.caller;
  return RunKeepUp(operations_, environment_, target, caller)
      .Then([this, volume_id,
             upkeep = std::move(upkeep)](const absl::Status& kept) mutable {
        if (!kept.ok()) {
          Log().warn(
              "what a volume's replication lacks could not be set yet "
              "volume={}: {}",
              Quoted(volume_id.text()), Quoted(kept.message()));
        }
        upkeep.any |= kept.ok();
        ++upkeep.next;
        return RunUpkeep(std::move(upkeep));
      });
}

Later<absl::StatusOr<ReplicationInfo>> ReplicationService::ReadInfoAfterUpkeep(
    const SourceCall& call, const Caller& caller, ReplicationInfo info) {
  if (info.upkeep.empty()) return info;
  Upkeep upkeep;
  upkeep.volumes = info.upkeep;
  upkeep.user = call.target.user;
  upkeep.caller = caller;
  upkeep.caller.deadline = std::min(caller.deadline.value_or(SteadyTime::max()),
                                    RealClock().Now() + kUpkeepPatience);
  return RunUpkeep(std::move(upkeep))
      .Then([this, call, caller, info = std::move(info)](
                bool any) mutable -> Later<absl::StatusOr<ReplicationInfo>> {
        if (!any) return std::move(info);
        return ReadInfo(call, caller);
      });
}

grpc::ServerUnaryReactor* ReplicationService::GetVolumeReplicationInfo(
    grpc::CallbackServerContext* context,
    const pb::GetVolumeReplicationInfoRequest* request,
    pb::GetVolumeReplicationInfoResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request, "replication info"));
        call.spec.action = "read the replication state of";
        MakeRead(&call.spec);
        return ReadInfo(call, rpc_call.caller)
            .Then([this, call, caller = rpc_call.caller](
                      absl::StatusOr<ReplicationInfo> info)
                      -> Later<absl::StatusOr<ReplicationInfo>> {
              ADDONS_RETURN_IF_ERROR(info.status());
              return ReadInfoAfterUpkeep(call, caller, *std::move(info));
            })
            .Then([response](const absl::StatusOr<ReplicationInfo>& info) {
              if (info.ok()) Fill(*info, response);
              return info.status();
            });
      });
}

grpc::ServerUnaryReactor* ReplicationService::GetReplicationDestinationInfo(
    grpc::CallbackServerContext* context,
    const pb::GetReplicationDestinationInfoRequest* request,
    pb::GetReplicationDestinationInfoResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(SourceCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "replication destination"));
        call.spec.action = "find the replication destination of";
        MakeRead(&call.spec);
        return call.is_group ? FindOfGroup(call, rpc_call.caller, response)
                             : FindOfVolume(call, rpc_call.caller, response);
      });
}

Reply ReplicationService::FindOfGroup(
    const SourceCall& call, const Caller& caller,
    pb::GetReplicationDestinationInfoResponse* response) {
  return RunOperation<GroupDestination>(
             operations_, call.spec, caller,
             [this, group_id = call.group_id,
              user = call.target.user](OperationContext& operation) {
               return FindGroupDestination(
                   environment_, destinations_, group_id, user,
                   operation.DeadlineWithin(kReadPatience));
             })
      .Then([response](absl::StatusOr<GroupDestination> found) -> absl::Status {
        ADDONS_RETURN_IF_ERROR(found.status());
        auto* group =
            response->mutable_replication_destination()->mutable_volumegroup();
        group->set_volume_group_id(found->group_id);
        group->mutable_volume_ids()->insert(found->volume_ids.begin(),
                                            found->volume_ids.end());
        return absl::OkStatus();
      });
}

Reply ReplicationService::FindOfVolume(
    const SourceCall& call, const Caller& caller,
    pb::GetReplicationDestinationInfoResponse* response) {
  return RunOperation<std::string>(
             operations_, call.spec, caller,
             [this, target = call.target](OperationContext& operation) {
               return destinations_.Find(
                   target, operation.DeadlineWithin(kReadPatience));
             })
      .Then([response](const absl::StatusOr<std::string>& id) -> absl::Status {
        ADDONS_RETURN_IF_ERROR(id.status());
        response->mutable_replication_destination()
            ->mutable_volume()
            ->set_volume_id(*id);
        return absl::OkStatus();
      });
}

}  // namespace addons
