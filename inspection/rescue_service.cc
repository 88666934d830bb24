#include "inspection/rescue_service.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "inspection/rescue_decision.h"
#include "operation/run_operation.h"
#include "replication/replication_service_call.h"
#include "rpc/secrets.h"
#include "rpc/text.h"
#include "rpc/validate.h"
#include "volume/patience.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

/// nullopt: it is to be shown only.
absl::StatusOr<std::optional<RescueChoice>> ChoiceOf(
    const admin_pb::DecideRescueRequest& request) {
  switch (request.decision()) {
    case admin_pb::DecideRescueRequest::UNSPECIFIED:
      return std::nullopt;
    case admin_pb::DecideRescueRequest::KEEP:
      return RescueChoice::kKeep;
    case admin_pb::DecideRescueRequest::RESTORE:
      return RescueChoice::kRestore;
    default:
      break;
  }
  return InvalidField("decision",
                      absl::StrCat(request.decision(), " is not known"));
}

/// The key is that of the volume's verbs: nothing else changes it meanwhile.
absl::StatusOr<SourceCall> Prepare(Resolver& resolver,
                                   const admin_pb::DecideRescueRequest& request,
                                   const std::optional<RescueChoice>& choice) {
  ADDONS_RETURN_IF_ERROR(Require("volume_id", request.volume_id()));
  ::replication::ReplicationSource source;
  source.mutable_volume()->set_volume_id(request.volume_id());
  const char* verb = "show the rescue";
  if (choice.has_value()) {
    verb = *choice == RescueChoice::kKeep ? "keep what was written"
                                          : "restore over what was written";
  }
  ADDONS_ASSIGN_OR_RETURN(
      SourceCall call,
      PrepareSourceCall(resolver, source, "", TakeSecrets(request.secrets()),
                        verb, {}));
  if (!choice.has_value()) {
    call.spec.prove = nullptr;
    MakeRead(&call.spec);
  }
  return call;
}

}  // namespace

RescueService::RescueService(Rpc& rpc, OperationTable& operations,
                             ReplicationEnvironment& environment)
    : rpc_(rpc), operations_(operations), environment_(environment) {}

grpc::ServerUnaryReactor* RescueService::DecideRescue(
    grpc::CallbackServerContext* context,
    const admin_pb::DecideRescueRequest* request,
    admin_pb::DecideRescueResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(const auto choice, ChoiceOf(*request));
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            Prepare(environment_.resolver, *request, choice));
        return RunOperation<RescueReport>(
                   operations_, call.spec, rpc_call.caller,
                   [this, choice,
                    target = call.target](OperationContext& operation)
                       -> absl::StatusOr<RescueReport> {
                     if (choice.has_value()) {
                       return addons::DecideRescue(operation, environment_,
                                                   target, *choice);
                     }
                     operation.Step("looking at the rescue");
                     return ShowRescue(environment_, target,
                                       operation.DeadlineWithin(kFindPatience));
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   decided = choice.has_value(),
                   response](absl::StatusOr<RescueReport> report) {
              if (decided) {
                RecordAnswer(environment_.history, call, request_id,
                             report.status());
              }
              if (!report.ok()) return report.status();
              response->set_rescue_image(
                  CleanLine(report->rescue_image, kMaxTextBytes));
              response->set_step(report->step);
              response->set_bytes(report->bytes);
              response->set_undecided(report->undecided);
              response->set_decision(
                  CleanLine(report->decision, kMaxTextBytes));
              response->set_message(CleanLine(report->message, kMaxTextBytes));
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
