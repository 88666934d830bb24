#include "admin/admin_service.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/lane_use.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "watch/watched_names.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

constexpr size_t kMostObjectName = 600;  // bytes

admin_pb::Operation::State StateOf(const OperationInfo& info) {
  if (info.stopping) return admin_pb::Operation::STOPPING;
  if (info.between_looks) return admin_pb::Operation::WAITING;
  return info.running ? admin_pb::Operation::RUNNING
                      : admin_pb::Operation::QUEUED;
}

std::string ClusterText(const WorkerShare& share) {
  return share.kind == WorkerShare::Kind::kNode ? "node"
                                                : share.cluster_id.text();
}

void Fill(const OperationInfo& info, const WatchedNames& names,
          admin_pb::Operation* operation) {
  operation->set_operation_id(info.id);
  operation->set_verb(info.verb);
  operation->set_object(info.object);
  operation->set_lane(std::string(Name(info.lane)));
  operation->set_cluster(ClusterText(info.share));
  operation->set_state(StateOf(info));
  operation->set_mutating(info.mutating);
  operation->set_step(info.step);
  operation->set_clock(info.clock);
  operation->set_done(info.done);
  operation->set_total(info.total);
  operation->set_callers(static_cast<uint32_t>(info.callers));
  operation->set_request_id(info.request_id);
  operation->set_age_milliseconds(info.age.count());
  operation->set_stuck(info.stuck);
  operation->set_idle_milliseconds(info.idle.count());
  operation->set_name(
      CleanLine(names.NameOfObject(info.object), kMostObjectName));
}

void Fill(const LaneUse& use, admin_pb::Lane* lane) {
  lane->set_name(std::string(Name(use.lane)));
  lane->set_running(static_cast<uint32_t>(use.running));
  lane->set_workers(static_cast<uint32_t>(use.limits.workers));
  lane->set_waiting(static_cast<uint32_t>(use.waiting));
  lane->set_queued(static_cast<uint32_t>(use.queued));
  lane->set_queue_limit(static_cast<uint32_t>(use.limits.queued));
}

admin_pb::CancelOperationResponse::Effect EffectOn(
    const OperationInfo& before) {
  if (before.mutating)
    return admin_pb::CancelOperationResponse::STOPS_AFTER_CHANGE;
  return before.running ? admin_pb::CancelOperationResponse::STOPS_NOW
                        : admin_pb::CancelOperationResponse::NEVER_STARTS;
}

absl::StatusOr<OperationInfo> Cancel(OperationTable& operations, uint64_t id) {
  if (id == 0) return InvalidField("operation_id", "is missing");
  auto before = operations.Cancel(id);
  if (!absl::IsNotFound(before.status())) return before;
  return absl::NotFoundError(absl::StrCat(
      before.status().message(),
      "; it may have ended meanwhile, 'rbd-addons operations' shows what there "
      "is"));
}

/// What the history calls the object of an operation: a volume and a group by
/// their ids, all else as it is.
std::string HistoryObject(absl::string_view object) {
  absl::string_view id = object;
  if ((absl::ConsumePrefix(&id, "volume '") ||
       absl::ConsumePrefix(&id, "volume group '")) &&
      absl::ConsumeSuffix(&id, "'")) {
    return std::string(id);
  }
  return std::string(object);
}

HistoryEvent CancelEvent(const OperationInfo& cancelled,
                         const std::string& request_id) {
  HistoryEvent event;
  event.object = HistoryObject(cancelled.object);
  event.verb = absl::StrCat("cancel ", cancelled.verb);
  event.request = request_id;
  event.code = "OK";
  event.text = absl::StrCat("at the step '", cancelled.step, "' of request ",
                            cancelled.request_id);
  return event;
}

}  // namespace

AdminService::AdminService(Rpc& rpc, OperationTable& operations,
                           EventLog* history, Watched watched)
    : rpc_(rpc),
      operations_(operations),
      history_(history),
      watched_(std::move(watched)) {}

grpc::ServerUnaryReactor* AdminService::ListOperations(
    grpc::CallbackServerContext* context,
    const admin_pb::ListOperationsRequest* request,
    admin_pb::ListOperationsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response, [&](const CallContext&) {
        const std::vector<OperationInfo> list = operations_.List();
        // Thousands of volumes are not looked through for nothing.
        const auto seen = watched_ && !list.empty() ? watched_() : nullptr;
        const WatchedNames names(seen.get());
        for (const OperationInfo& info : list) {
          Fill(info, names, response->add_operations());
        }
        for (const LaneUse& use : UseOfLanes(operations_.limits(), list)) {
          Fill(use, response->add_lanes());
        }
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* AdminService::CancelOperation(
    grpc::CallbackServerContext* context,
    const admin_pb::CancelOperationRequest* request,
    admin_pb::CancelOperationResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(const OperationInfo before,
                                Cancel(operations_, request->operation_id()));
        // The access log knows only the id, which means nothing later.
        Log().info(
            "operation cancelled by an administrator id={} verb={} object={} "
            "step={} callers={} of_req={} req={}",
            before.id, before.verb, Quoted(before.object), Quoted(before.step),
            before.callers, before.request_id, call.caller.request_id);
        if (history_ != nullptr && before.lane != Lane::kRead) {
          history_->Add(CancelEvent(before, call.caller.request_id));
        }
        response->set_effect(EffectOn(before));
        const auto seen = watched_ ? watched_() : nullptr;
        Fill(before, WatchedNames(seen.get()), response->mutable_operation());
        return absl::OkStatus();
      });
}

}  // namespace addons
