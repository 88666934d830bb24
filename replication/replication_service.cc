#include "replication/replication_service.h"

#include <any>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/demote.h"
#include "replication/disable.h"
#include "replication/enable.h"
#include "replication/info.h"
#include "replication/promote.h"
#include "replication/resync.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::replication;
using StringMap = google::protobuf::Map<std::string, std::string>;

/// What an operation of a volume needs before its own parameters.
struct VolumeCall {
  VolumeTarget target;
  OperationSpec spec;
};

/// The one place that reads the deprecated field 1, which sidecars up to v0.8.0
/// send instead of a source.
template <typename Request>
std::string OldVolumeId(const Request& request) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return request.volume_id();
#pragma GCC diagnostic pop
}

/// GetReplicationDestinationInfo is too new to have that field.
std::string OldVolumeId(const pb::GetReplicationDestinationInfoRequest&) {
  return "";
}

absl::StatusOr<std::string> VolumeIdOf(const pb::ReplicationSource& source,
                                       const std::string& deprecated_id) {
  switch (source.type_case()) {
    case pb::ReplicationSource::kVolume: {
      const std::string& id = source.volume().volume_id();
      ADDONS_RETURN_IF_ERROR(
          Require("replication_source.volume.volume_id", id));
      if (!deprecated_id.empty() && deprecated_id != id) {
        return InvalidField("volume_id",
                            "differs from replication_source.volume.volume_id; "
                            "leave the deprecated field empty");
      }
      return id;
    }
    case pb::ReplicationSource::kVolumegroup:
      ADDONS_RETURN_IF_ERROR(
          Require("replication_source.volumegroup.volume_group_id",
                  source.volumegroup().volume_group_id()));
      if (!deprecated_id.empty()) {
        return InvalidField("volume_id",
                            "names a volume, but replication_source names a "
                            "volume group");
      }
      return absl::UnimplementedError(
          "replication of volume groups is not supported by this version");
    case pb::ReplicationSource::TYPE_NOT_SET:
      break;
  }
  if (!deprecated_id.empty()) return deprecated_id;
  return InvalidField("replication_source", "is missing");
}

Caller CallerOf(const CallContext& call) {
  return Caller{call.deadline, call.cancelled, call.request_id};
}

ParameterMap Parameters(const StringMap& map) {
  return ParameterMap(map.begin(), map.end());
}

/// Calls with other parameters, or of another user, are not joined.
std::string Fingerprint(const CephUser& user, absl::string_view verb,
                        const ParameterMap& parameters) {
  std::string text =
      absl::StrCat(verb, "\n", user.id, "\n", user.key.Fingerprint());
  for (const auto& [key, value] : parameters) {
    absl::StrAppend(&text, "\n", absl::CEscape(key), "=", absl::CEscape(value));
  }
  return text;
}

/// Validates what all requests share and describes the operation. Asks no
/// cluster.
template <typename Request>
absl::StatusOr<VolumeCall> PrepareCall(Resolver& resolver,
                                       const Request& request,
                                       absl::string_view verb,
                                       const ParameterMap& parameters = {}) {
  VolumeCall call;
  ADDONS_ASSIGN_OR_RETURN(
      call.target.volume_id,
      VolumeIdOf(request.replication_source(), OldVolumeId(request)));
  ADDONS_ASSIGN_OR_RETURN(call.target.user,
                          UserFromSecrets(TakeSecrets(request.secrets())));
  ADDONS_ASSIGN_OR_RETURN(std::string key,
                          resolver.OperationKey(call.target.volume_id));
  call.spec.cluster = key.substr(0, key.find('/'));
  call.spec.keys = {std::move(key)};
  call.spec.verb = std::string(verb);
  call.spec.object = absl::StrCat("volume '", call.target.volume_id, "'");
  call.spec.parameters = Fingerprint(call.target.user, verb, parameters);
  return call;
}

/// A read shares no key with the verbs, so it neither blocks nor waits for
/// them; equal reads at the same time are one.
void MakeRead(VolumeCall* call) {
  call->spec.lane = Lane::kRead;
  call->spec.keys = {absl::StrCat("read/", call->spec.parameters, "/",
                                  call->spec.keys.front())};
}

/// Runs a verb that answers with nothing but its status. The operation outlives
/// the call, so it owns its request.
template <typename Request>
absl::Status RunVerb(OperationTable& operations, const OperationSpec& spec,
                     const CallContext& rpc_call,
                     ReplicationEnvironment& environment, Request request,
                     absl::Status (*verb)(OperationContext&,
                                          ReplicationEnvironment&,
                                          const Request&)) {
  auto owned = std::make_shared<const Request>(std::move(request));
  return operations
      .Run(spec, CallerOf(rpc_call),
           [&environment, owned,
            verb](OperationContext& context) -> absl::StatusOr<std::any> {
             ADDONS_RETURN_IF_ERROR(verb(context, environment, *owned));
             return std::any();
           })
      .status();
}

/// How long a read without a deadline of its own may take.
constexpr std::chrono::seconds kReadPatience{60};

SteadyTime ReadDeadline(OperationContext& context) {
  const SteadyTime latest = context.clock().Now() + kReadPatience;
  return std::min(latest, context.LatestDeadline().value_or(latest));
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
                                       Resolver& resolver, ConfigStore& config,
                                       Clock& clock,
                                       const ReplicationOptions& options)
    : rpc_(rpc),
      operations_(operations),
      tracker_(clock),
      environment_{resolver, config, tracker_, options},
      destinations_(environment_) {}

grpc::Status ReplicationService::EnableVolumeReplication(
    grpc::ServerContext* context,
    const pb::EnableVolumeReplicationRequest* request,
    pb::EnableVolumeReplicationResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& rpc_call) -> absl::Status {
        const ParameterMap map = Parameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        ADDONS_ASSIGN_OR_RETURN(VolumeCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "enable replication", map));
        return RunVerb(operations_, call.spec, rpc_call, environment_,
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
        const ParameterMap map = Parameters(request->parameters());
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
        return RunVerb(operations_, call->spec, rpc_call, environment_,
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
        const ParameterMap map = Parameters(request->parameters());
        ADDONS_ASSIGN_OR_RETURN(const ReplicationParameters parameters,
                                ReplicationParameters::Parse(map));
        ADDONS_ASSIGN_OR_RETURN(
            VolumeCall call,
            PrepareCall(environment_.resolver, *request,
                        request->force() ? "promote by force" : "promote",
                        map));
        call.spec.supersedes = request->force();
        const Force force = request->force() ? Force::kYes : Force::kNo;
        return RunVerb(
            operations_, call.spec, rpc_call, environment_,
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
            VolumeCall call,
            PrepareCall(environment_.resolver, *request, "demote"));
        call.spec.supersedes = true;
        return RunVerb(operations_, call.spec, rpc_call, environment_,
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
            VolumeCall call,
            PrepareCall(environment_.resolver, *request,
                        request->force() ? "resync by force" : "resync"));
        call.spec.supersedes = true;
        auto owned = std::make_shared<const ResyncRequest>(
            ResyncRequest{std::move(call.target),
                          request->force() ? Force::kYes : Force::kNo});
        ADDONS_ASSIGN_OR_RETURN(const ResyncResult result,
                                RunOperation<ResyncResult>(
                                    operations_, call.spec, CallerOf(rpc_call),
                                    [this, owned](OperationContext& operation) {
                                      return Resync(operation, environment_,
                                                    *owned);
                                    }));
        response->set_ready(result.ready);
        Log().info("resync of {}: ready={} {}", call.spec.object, result.ready,
                   result.message);
        return absl::OkStatus();
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
            VolumeCall call,
            PrepareCall(environment_.resolver, *request, "replication info"));
        MakeRead(&call);
        auto target =
            std::make_shared<const VolumeTarget>(std::move(call.target));
        ADDONS_ASSIGN_OR_RETURN(
            const ReplicationInfo info,
            RunOperation<ReplicationInfo>(
                operations_, call.spec, CallerOf(rpc_call),
                [this, target](OperationContext& operation) {
                  return GetReplicationInfo(environment_, *target,
                                            ReadDeadline(operation));
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
        ADDONS_ASSIGN_OR_RETURN(VolumeCall call,
                                PrepareCall(environment_.resolver, *request,
                                            "replication destination"));
        MakeRead(&call);
        auto target =
            std::make_shared<const VolumeTarget>(std::move(call.target));
        ADDONS_ASSIGN_OR_RETURN(
            const std::string id,
            RunOperation<std::string>(
                operations_, call.spec, CallerOf(rpc_call),
                [this, target](OperationContext& operation) {
                  return destinations_.Find(*target, ReadDeadline(operation));
                }));
        response->mutable_replication_destination()
            ->mutable_volume()
            ->set_volume_id(id);
        return absl::OkStatus();
      });
}

}  // namespace addons
