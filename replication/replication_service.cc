#include "replication/replication_service.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/group/demote.h"
#include "replication/group/disable.h"
#include "replication/group/enable.h"
#include "replication/group/group_call.h"
#include "replication/group/promote.h"
#include "replication/group/resync.h"
#include "replication/replication_service_call.h"
#include "replication/steps/demote.h"
#include "replication/steps/disable.h"
#include "replication/steps/enable.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/promote.h"
#include "replication/steps/resync.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/trailers.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

namespace pb = ::replication;

GroupCall OnGroup(const SourceCall& call) {
  return {call.group_id, call.target.user, call.spec};
}

AskedFor AskedOf(const SourceCall& call, const CallContext& rpc_call) {
  return {SourceIdOf(call), call.spec.verb, call.target.user->id,
          rpc_call.caller.request_id};
}

/// What a request is about, whether it can be or not.
std::string SourceId(const pb::DisableVolumeReplicationRequest& request) {
  const pb::ReplicationSource& source = request.replication_source();
  if (source.has_volume()) return source.volume().volume_id();
  if (source.has_volumegroup()) return source.volumegroup().volume_group_id();
  return OldVolumeId(request);
}

/// What cannot be a volume of this driver needs no disable, and its resource
/// must not stay for ever because of that: also not when the id breaks the
/// limits of a request, which is therefore served without all that is in it.
grpc::ServerUnaryReactor* DisableForeign(
    Rpc& rpc, grpc::CallbackServerContext& context,
    const pb::DisableVolumeReplicationRequest& request,
    pb::DisableVolumeReplicationResponse& response, const std::string& id) {
  return ServeUnary(
      rpc, context, pb::DisableVolumeReplicationRequest::default_instance(),
      response,
      [&request] { WipeSecrets(request, "secrets", request.secrets()); },
      [&](const CallContext& call) {
        Log().warn(
            "what cannot be a volume of this driver needs no disable volume={} "
            "req={}",
            Quoted(id), call.caller.request_id);
        return absl::OkStatus();
      });
}

void WarnOfPlans(const std::string& id) {
  Log().warn(
      "no points are made of it, or of some of it: as many volumes as are "
      "possible have a plan id={} most={}",
      Quoted(id), PointPlans::kMost);
}

}  // namespace

HistoryEvent AskedFor::Event() && {
  HistoryEvent event;
  event.object = std::move(object);
  event.verb = std::move(verb);
  event.user = std::move(user);
  event.request = std::move(request);
  return event;
}

ReplicationService::ReplicationService(Rpc& rpc, OperationTable& operations,
                                       ReplicationEnvironment& environment,
                                       WatchedClusters& watched)
    : rpc_(rpc),
      operations_(operations),
      environment_(environment),
      watched_(watched),
      destinations_(environment_) {}

template <typename Result>
Later<absl::StatusOr<Result>> ReplicationService::RunLocated(
    const SourceCall& call, const CallContext& rpc_call,
    GroupVerb<absl::StatusOr<Result>> verb) {
  return RunOnGroup<Result>(
      operations_, environment_.resolver, OnGroup(call), rpc_call.caller,
      [this, verb = std::move(verb)](OperationContext& context,
                                     const GroupTarget& target) {
        Locate(target);
        return verb(context, target);
      });
}

Reply ReplicationService::RunGroupVerb(const SourceCall& call,
                                       const CallContext& rpc_call,
                                       GroupVerb<absl::Status> verb) {
  return Recorded(
      AskedOf(call, rpc_call),
      RunLocated<std::monostate>(
          call, rpc_call,
          [verb = std::move(verb)](
              OperationContext& context,
              const GroupTarget& target) -> absl::StatusOr<std::monostate> {
            ADDONS_RETURN_IF_ERROR(verb(context, target));
            return std::monostate();
          })
          .Then([](const absl::StatusOr<std::monostate>& result) {
            return result.status();
          }));
}

template <typename Request>
Reply ReplicationService::RunVolumeVerb(
    const SourceCall& call, const CallContext& rpc_call, Request request,
    absl::Status (*verb)(OperationContext&, ReplicationEnvironment&,
                         const Request&)) {
  return Recorded(AskedOf(call, rpc_call),
                  RunVerb(operations_, call.spec, rpc_call.caller, environment_,
                          std::move(request), verb));
}

void ReplicationService::Locate(const GroupTarget& target) {
  if (target.place.cluster == nullptr) return;
  environment_.history.Locate(target.group_id.text(), target.place, "");
}

Reply ReplicationService::PlanPoints(const SourceCall& call, PointPlan plan,
                                     Reply reply) {
  return std::move(reply).Then([this, target = call.target,
                                plan = std::move(plan)](
                                   const absl::Status& status) mutable {
    if (status.ok() && !environment_.point_plans.Note(
                           target.volume_id, target.user, std::move(plan))) {
      WarnOfPlans(target.volume_id.text());
    }
    return status;
  });
}

absl::Status ReplicationService::PlanGroupPoints(const GroupTarget& target,
                                                 const PointPlan& plan,
                                                 absl::Status done) {
  if (done.ok() &&
      !environment_.point_plans.NoteGroup(target.group_id.text(),
                                          target.members, target.user, plan)) {
    WarnOfPlans(target.group_id.text());
  }
  return done;
}

Reply ReplicationService::Recorded(AskedFor asked, Reply reply) {
  return std::move(reply).Then(
      [this, asked = std::move(asked)](const absl::Status& status) mutable {
        environment_.history.AddAnswered(std::move(asked).Event(), status);
        return status;
      });
}

grpc::ServerUnaryReactor* ReplicationService::EnableVolumeReplication(
    grpc::CallbackServerContext* context,
    const pb::EnableVolumeReplicationRequest* request,
    pb::EnableVolumeReplicationResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        const ParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        ADDONS_ASSIGN_OR_RETURN(SourceCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "enable replication", map));
        call.spec.action = "enable replication of";
        if (call.is_group) {
          ADDONS_RETURN_IF_ERROR(
              CheckGroupReplication(environment_.options, map));
          return RunGroupVerb(
              call, rpc_call,
              [this, parameters](OperationContext& operation,
                                 const GroupTarget& target) {
                return PlanGroupPoints(
                    target, parameters.points,
                    EnableGroup(operation, environment_, target, parameters));
              });
        }
        return PlanPoints(
            call, parameters.points,
            RunVolumeVerb(call, rpc_call,
                          EnableRequest{call.target, parameters}, &Enable));
      });
}

grpc::ServerUnaryReactor* ReplicationService::DisableVolumeReplication(
    grpc::CallbackServerContext* context,
    const pb::DisableVolumeReplicationRequest* request,
    pb::DisableVolumeReplicationResponse* response) {
  if (const std::string id = SourceId(*request);
      !id.empty() && !VolumeId::HasShape(id)) {
    return DisableForeign(rpc_, *context, *request, *response, id);
  }
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        const ParameterMap map = TakeParameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::ParseForDisable(map));
        ADDONS_ASSIGN_OR_RETURN(SourceCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "disable replication", map));
        call.spec.action = "disable replication of";
        call.spec.supersedes = true;
        if (call.is_group) {
          return RunGroupVerb(
              call, rpc_call,
              [this, parameters](OperationContext& operation,
                                 const GroupTarget& target) {
                absl::Status status = PlanGroupPoints(
                    target, {},
                    DisableGroup(operation, environment_, target, parameters));
                if (status.ok()) {
                  watched_.ForgetGroup(target.group_id.text());
                }
                return status;
              });
        }
        return PlanPoints(
            call, {},
            RunVolumeVerb(call, rpc_call,
                          DisableRequest{call.target, parameters}, &Disable));
      });
}

grpc::ServerUnaryReactor* ReplicationService::PromoteVolume(
    grpc::CallbackServerContext* context,
    const pb::PromoteVolumeRequest* request,
    pb::PromoteVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
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
        Reply told =
            RunPromotion(call, force, parameters, rpc_call)
                .Then([context](const absl::StatusOr<size_t>& without) {
                  if (without.ok() && *without > 0) {
                    context->AddTrailingMetadata(kWithoutScheduleTrailer,
                                                 absl::StrCat(*without));
                  }
                  return without.status();
                });
        told = Recorded(AskedOf(call, rpc_call), std::move(told));
        if (call.is_group) return told;
        return PlanPoints(call, parameters.points, std::move(told));
      });
}

Later<absl::StatusOr<size_t>> ReplicationService::RunPromotion(
    const SourceCall& call, Force force,
    const ReplicationParameters& parameters, const CallContext& rpc_call) {
  if (call.is_group) {
    return RunLocated<size_t>(
        call, rpc_call,
        [this, force, parameters](
            OperationContext& operation,
            const GroupTarget& target) -> absl::StatusOr<size_t> {
          ADDONS_RETURN_IF_ERROR(
              PlanGroupPoints(target, parameters.points,
                              PromoteGroup(operation, environment_, target,
                                           force, parameters)));
          return operation.memory().Of<PromotionNotes>().without_schedule;
        });
  }
  auto owned = std::make_shared<const PromoteRequest>(
      PromoteRequest{call.target, force, parameters});
  return RunOperation<size_t>(
      operations_, call.spec, rpc_call.caller,
      [this, owned](OperationContext& operation) -> absl::StatusOr<size_t> {
        ADDONS_RETURN_IF_ERROR(Promote(operation, environment_, *owned));
        return operation.memory().Of<PromotionNotes>().without_schedule;
      });
}

grpc::ServerUnaryReactor* ReplicationService::DemoteVolume(
    grpc::CallbackServerContext* context,
    const pb::DemoteVolumeRequest* request,
    pb::DemoteVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request, "demote"));
        call.spec.supersedes = true;
        if (call.is_group) {
          return RunGroupVerb(
              call, rpc_call,
              [this](OperationContext& operation, const GroupTarget& target) {
                return DemoteGroup(operation, environment_, target);
              });
        }
        return RunVolumeVerb(call, rpc_call, DemoteRequest{call.target},
                             &Demote);
      });
}

grpc::ServerUnaryReactor* ReplicationService::ResyncVolume(
    grpc::CallbackServerContext* context,
    const pb::ResyncVolumeRequest* request,
    pb::ResyncVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareCall(environment_.resolver, *request,
                        request->force() ? "resync by force" : "resync"));
        call.spec.supersedes = true;
        const Force force = request->force() ? Force::kYes : Force::kNo;
        const std::string object = call.spec.object;
        return RunResync(call, force, rpc_call)
            .Then([this, asked = AskedOf(call, rpc_call), object,
                   response](absl::StatusOr<ResyncResult> result) mutable
                  -> absl::Status {
              HistoryEvent event = std::move(asked).Event();
              if (result.ok()) {
                event.text = absl::StrCat(result->ready ? "ready" : "not ready",
                                          result->message.empty() ? "" : ": ",
                                          result->message);
              }
              environment_.history.AddAnswered(std::move(event),
                                               result.status());
              ADDONS_RETURN_IF_ERROR(result.status());
              response->set_ready(result->ready);
              resyncs_.Answered(object, result->ready, result->message,
                                rpc_.clock().Now());
              return absl::OkStatus();
            });
      });
}

Later<absl::StatusOr<ResyncResult>> ReplicationService::RunResync(
    const SourceCall& call, Force force, const CallContext& rpc_call) {
  if (call.is_group) {
    return RunLocated<ResyncResult>(
        call, rpc_call,
        [this, force](OperationContext& operation, const GroupTarget& target) {
          return ResyncGroup(operation, environment_, target, force);
        });
  }
  auto owned =
      std::make_shared<const ResyncRequest>(ResyncRequest{call.target, force});
  return RunOperation<ResyncResult>(operations_, call.spec, rpc_call.caller,
                                    [this, owned](OperationContext& operation) {
                                      return Resync(operation, environment_,
                                                    *owned);
                                    });
}

}  // namespace addons
