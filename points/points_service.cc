#include "points/points_service.h"

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "points/long_read.h"
#include "points/make_point.h"
#include "points/planned_work.h"
#include "points/prove.h"
#include "points/rollback.h"
#include "replication/group/point_name.h"
#include "replication/replication_service_call.h"
#include "rpc/text.h"
#include "rpc/validate.h"

namespace addons {
namespace {

namespace admin_pb = ::rbdaddons::admin::v1;

size_t SizeOf(const std::map<std::string, std::string>& record) {
  size_t size = 0;
  for (const auto& [key, value] : record) size += key.size() + value.size();
  return size;
}

admin_pb::VerifyPointResponse::Verdict VerdictOf(Proof::Verdict verdict) {
  switch (verdict) {
    case Proof::Verdict::kWhole:
      return admin_pb::VerifyPointResponse::WHOLE;
    case Proof::Verdict::kNotCleared:
      return admin_pb::VerifyPointResponse::NOT_CLEARED;
    case Proof::Verdict::kUnclear:
      return admin_pb::VerifyPointResponse::UNCLEAR;
    case Proof::Verdict::kDamaged:
      break;
  }
  return admin_pb::VerifyPointResponse::DAMAGED;
}

void Fill(const Proof& proof, admin_pb::VerifyPointResponse* response) {
  const Comparison& found = proof.found;
  response->set_verdict(VerdictOf(proof.verdict()));
  response->set_name(CleanLine(proof.header.point, kMaxTextBytes));
  response->set_digested_time(proof.header.made);
  response->set_image(CleanLine(proof.image, kMaxTextBytes));
  response->set_primary(proof.primary);
  response->set_objects(found.objects);
  response->set_objects_with_data(found.with_data);
  response->set_bytes_read(found.bytes_read);
  response->set_damaged(found.damaged);
  for (const DamagedObjects& damaged : found.first) {
    admin_pb::DamagedObjects& one = *response->add_damaged_objects();
    one.set_object(damaged.object);
    one.set_count(damaged.count);
    one.set_offset(damaged.offset);
  }
  response->set_not_cleared_bytes(found.not_cleared_bytes);
  if (!proof.kept.ok()) {
    response->set_not_kept(CleanLine(proof.kept.message(), kMaxTextBytes));
  }
}

}  // namespace

absl::Status CheckGivenName(const std::string& name) {
  if (ParsePlannedName(name).has_value()) {
    return InvalidField("name",
                        "is as the points of plans are called, which remove "
                        "them in their time; take another one");
  }
  if (ParseGroupPointName(name).has_value()) {
    return InvalidField("name",
                        "is as the points of groups are called, which are of "
                        "one instant; take another one");
  }
  return absl::OkStatus();
}

PointsService::PointsService(Rpc& rpc, OperationTable& operations,
                             ReplicationEnvironment& environment)
    : rpc_(rpc), operations_(operations), environment_(environment) {}

grpc::ServerUnaryReactor* PointsService::CreatePoint(
    grpc::CallbackServerContext* context,
    const admin_pb::CreatePointRequest* request,
    admin_pb::CreatePointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(CheckGivenName(request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "create point",
                              {{"name", request->name()}}));
        call.spec.keep_result = true;
        return RunOperation<MadePoint>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target = call.target,
                    name = request->name()](OperationContext& operation) {
                     return MakePoint(operation, environment_, target, name);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<MadePoint>& made) {
              RecordAnswer(environment_.history, call, request_id,
                           made.status(), made.ok() ? made->name : "");
              if (!made.ok()) return made.status();
              response->set_name(made->name);
              response->set_snapshot_id(made->carrier.id);
              response->set_snapshot_time(made->carrier.created);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::DigestPoint(
    grpc::CallbackServerContext* context,
    const admin_pb::DigestPointRequest* request,
    admin_pb::DigestPointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall store,
            PrepareVolumeCall(environment_.resolver, *request, "store point",
                              {{"name", request->name()}}));
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall read,
            PrepareVolumeCall(
                environment_.resolver, *request, "digest point",
                {{"name", request->name()},
                 {"rate", absl::StrCat(request->bytes_per_second())}}));
        MakeLongRead("read a point of", request->volume_id(), &read.spec);
        return RunOperation<DigestedPoint>(
                   operations_, read.spec, rpc_call.caller,
                   [this, target = read.target, name = request->name(),
                    rate = request->bytes_per_second()](
                       OperationContext& operation) {
                     return addons::DigestPoint(operation, environment_, target,
                                                name, rate);
                   })
            .Then([this, store, caller = rpc_call.caller,
                   name = request->name(),
                   response](absl::StatusOr<DigestedPoint> digested)
                      -> Later<absl::StatusOr<SyncSnapshot>> {
              if (!digested.ok()) {
                return absl::StatusOr<SyncSnapshot>(digested.status());
              }
              response->set_bytes_read(digested->bytes_read);
              response->set_record_bytes(SizeOf(digested->record));
              return RunOperation<SyncSnapshot>(
                  operations_, store.spec, caller,
                  [this, target = store.target, name,
                   point = *std::move(digested)](OperationContext& operation) {
                    return StoreRecord(operation, environment_, target, name,
                                       point.snapshot, point.record);
                  });
            })
            .Then([this, read, request_id = rpc_call.caller.request_id,
                   name = request->name(),
                   response](const absl::StatusOr<SyncSnapshot>& stored) {
              RecordAnswer(environment_.history, read, request_id,
                           stored.status(), name);
              if (!stored.ok()) return stored.status();
              response->set_snapshot_id(stored->id);
              response->set_snapshot_time(stored->created);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::ListPoints(
    grpc::CallbackServerContext* context,
    const admin_pb::ListPointsRequest* request,
    admin_pb::ListPointsResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "list points"));
        MakeRead(&call.spec);
        call.spec.action = "list the points of";
        return RunOperation<SeenPoints>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target = call.target](OperationContext& operation) {
                     return LookAtPoints(operation, environment_, target);
                   })
            .Then([response](const absl::StatusOr<SeenPoints>& seen) {
              if (!seen.ok()) return seen.status();
              for (const ListedPoint& point : seen->points) {
                admin_pb::PointEntry& entry = *response->add_points();
                entry.set_name(CleanLine(point.name, kMaxTextBytes));
                entry.set_digested(point.recorded);
                entry.set_digested_time(point.made);
              }
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::RemovePoint(
    grpc::CallbackServerContext* context,
    const admin_pb::RemovePointRequest* request,
    admin_pb::RemovePointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        ADDONS_ASSIGN_OR_RETURN(
            const SourceCall call,
            PrepareVolumeCall(environment_.resolver, *request, "remove point",
                              {{"name", request->name()}}));
        return RunOperation<bool>(
                   operations_, call.spec, rpc_call.caller,
                   [this, target = call.target,
                    name = request->name()](OperationContext& operation) {
                     return addons::RemovePoint(operation, environment_, target,
                                                name);
                   })
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   name = request->name(),
                   response](const absl::StatusOr<bool>& removed) {
              RecordAnswer(environment_.history, call, request_id,
                           removed.status(), name);
              if (!removed.ok()) return removed.status();
              response->set_removed(*removed);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::RollBack(
    grpc::CallbackServerContext* context,
    const admin_pb::RollBackRequest* request,
    admin_pb::RollBackResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_RETURN_IF_ERROR(Require("name", request->name()));
        const RollbackRequest wanted{request->name(), request->kept(),
                                     request->only_look(),
                                     request->only_go_on()};
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(
                environment_.resolver, *request,
                wanted.only_look ? "look at roll back" : "roll back",
                {{"name", wanted.point},
                 {"kept", wanted.kept},
                 {"go on", wanted.only_go_on ? "true" : ""}}));
        if (wanted.only_look) {
          MakeRead(&call.spec);
          call.spec.action = "see whether it can roll back";
        } else {
          // It keeps no other volume's failover from going on.
          call.spec.lane = Lane::kBulk;
          // Without, what was written after an earlier one is not the same.
          call.spec.keep_result = !wanted.kept.empty();
        }
        return RunOperation<Rollback>(operations_, call.spec, rpc_call.caller,
                                      [this, target = call.target,
                                       wanted](OperationContext& operation) {
                                        return RollBackToPoint(operation,
                                                               environment_,
                                                               target, wanted);
                                      })
            .Then([this, call, wanted, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<Rollback>& done) {
              if (!wanted.only_look) {
                RecordAnswer(environment_.history, call, request_id,
                             done.status(), wanted.point);
              }
              if (!done.ok()) return done.status();
              response->set_kept(done->kept);
              response->set_goes_on(done->goes_on);
              response->set_keeps_itself(done->keeps_itself);
              response->set_bytes(done->bytes);
              response->set_bytes_now(done->bytes_now);
              response->set_bytes_compared(done->compared);
              response->set_snapshot_id(done->carrier);
              return absl::OkStatus();
            });
      });
}

grpc::ServerUnaryReactor* PointsService::VerifyPoint(
    grpc::CallbackServerContext* context,
    const admin_pb::VerifyPointRequest* request,
    admin_pb::VerifyPointResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(
            SourceCall call,
            PrepareVolumeCall(
                environment_.resolver, *request, "verify",
                {{"name", request->name()},
                 {"rate", absl::StrCat(request->bytes_per_second())}}));
        MakeLongRead("verify", request->volume_id(), &call.spec);
        const auto prove =
            [this, target = call.target, name = request->name(),
             rate = request->bytes_per_second()](OperationContext& operation) {
              return ProvePoint(operation, environment_, target, name, rate);
            };
        return RunOperation<Proof>(operations_, call.spec, rpc_call.caller,
                                   prove)
            .Then([this, call, request_id = rpc_call.caller.request_id,
                   response](const absl::StatusOr<Proof>& proof) {
              RecordAnswer(environment_.history, call, request_id,
                           proof.status(),
                           proof.ok() ? DescribeFound(*proof) : "");
              if (!proof.ok()) return proof.status();
              Fill(*proof, response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
