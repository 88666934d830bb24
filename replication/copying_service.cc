#include "replication/copying_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "replication/steps/pause.h"
#include "rpc/text.h"
#include "rpc/validate.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

void FillPause(const PauseReport& report,
               admin_pb::PauseVolumeResponse* response) {
  response->set_paused_since(report.since.value_or(0));
}
void FillPause(const PauseReport& /*report*/,
               admin_pb::ResumeVolumeResponse* /*response*/) {}

/// PauseVolume and ResumeVolume.
template <typename Response>
Reply RunPauseVerb(OperationTable& operations,
                   ReplicationEnvironment& environment, const SourceCall& call,
                   const Caller& caller,
                   absl::StatusOr<PauseReport> (*verb)(OperationContext&,
                                                       ReplicationEnvironment&,
                                                       const VolumeTarget&),
                   Response* response) {
  return RunOperation<PauseReport>(
             operations, call.spec, caller,
             [&environment, verb,
              target = call.target](OperationContext& operation) {
               return verb(operation, environment, target);
             })
      .Then([&environment, call, request_id = caller.request_id,
             response](const absl::StatusOr<PauseReport>& report) {
        RecordAnswer(environment.history, call, request_id, report.status(),
                     report.ok() ? report->message : "");
        if (!report.ok()) return report.status();
        response->set_changed(report->changed);
        response->set_schedules(CleanLine(report->schedules, kMaxTextBytes));
        response->set_message(CleanLine(report->message, kMaxTextBytes));
        FillPause(*report, response);
        return absl::OkStatus();
      });
}

}  // namespace

CopyingService::CopyingService(Rpc& rpc, OperationTable& operations,
                               ReplicationEnvironment& environment)
    : rpc_(rpc), operations_(operations), environment_(environment) {}

Later<absl::StatusOr<SyncSnapshot>> CopyingService::MakeSince(
    const SourceCall& call, const Caller& caller, SteadyTime called) {
  return RunOperation<SyncSnapshot>(
             operations_, call.spec, caller,
             [this, target = call.target](OperationContext& operation) {
               return MakeSyncSnapshot(operation, environment_, target);
             })
      .Then([this, call, caller, called](absl::StatusOr<SyncSnapshot> made)
                -> Later<absl::StatusOr<SyncSnapshot>> {
        if (made.ok() && made->begun < called) {
          return MakeSince(call, caller, called);
        }
        return made;
      });
}

grpc::ServerUnaryReactor* CopyingService::SyncVolume(
    grpc::CallbackServerContext* context,
    const admin_pb::SyncVolumeRequest* request,
    admin_pb::SyncVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "sync"));
        return MakeSince(call, rpc_call.caller, rpc_.clock().Now())
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<SyncSnapshot>& made) {
              RecordAnswer(environment_.history, call, request_id,
                           made.status());
              if (!made.ok()) return made.status();
              response->set_snapshot_id(made->id);
              response->set_snapshot_time(made->created);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* CopyingService::AwaitSync(
    grpc::CallbackServerContext* context,
    const admin_pb::AwaitSyncRequest* request,
    admin_pb::AwaitSyncResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        SyncSnapshot snapshot;
        snapshot.id = request->snapshot_id();
        snapshot.created = request->snapshot_time();
        if (snapshot.id == 0) return InvalidField("snapshot_id", "is missing");
        if (snapshot.created <= 0) {
          return InvalidField("snapshot_time", "is missing");
        }
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "await sync",
                              {{"snapshot", absl::StrCat(snapshot.id, " of ",
                                                         snapshot.created)}}));
        call.spec.action = "await the sync of";
        MakeRead(&call.spec);
        return RunOperation<std::vector<std::string>>(
                   operations_, call.spec, rpc_call.caller,
                   [this, snapshot,
                    target = call.target](OperationContext& operation) {
                     return addons::AwaitSync(operation, environment_, target,
                                              snapshot);
                   })
            .Then([response](
                      const absl::StatusOr<std::vector<std::string>>& sites) {
              if (!sites.ok()) return sites.status();
              for (const std::string& site : *sites) {
                response->add_sites(CleanLine(site, kMaxTextBytes));
              }
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* CopyingService::PauseVolume(
    grpc::CallbackServerContext* context,
    const admin_pb::PauseVolumeRequest* request,
    admin_pb::PauseVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "pause"));
        return RunPauseVerb(operations_, environment_, call, rpc_call.caller,
                            &PauseSchedules, response);
      });
}

grpc::ServerUnaryReactor* CopyingService::ResumeVolume(
    grpc::CallbackServerContext* context,
    const admin_pb::ResumeVolumeRequest* request,
    admin_pb::ResumeVolumeResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "resume"));
        return RunPauseVerb(operations_, environment_, call, rpc_call.caller,
                            &ResumeSchedules, response);
      });
}

}  // namespace addons
