#include "reclaimspace/node_reclaim_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "operation/run_operation.h"
#include "reclaimspace/reclaim_answer.h"
#include "rpc/secrets.h"
#include "rpc/trailers.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::reclaimspace;
using csi::v1::VolumeCapability;

absl::Status RequirePlainPath(absl::string_view field,
                              const std::string& path) {
  ADDONS_RETURN_IF_ERROR(RequireAbsolute(field, path));
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (std::find(parts.begin(), parts.end(), "..") != parts.end()) {
    return InvalidField(field, "contains '..'");
  }
  return absl::OkStatus();
}

// The id becomes a part of the path.
absl::Status RequirePathSafeId(const std::string& id) {
  ADDONS_RETURN_IF_ERROR(Require("volume_id", id));
  if (id == "." || absl::StrContains(id, "..") || absl::StrContains(id, '/') ||
      absl::StrContains(id, '\\')) {
    return InvalidField("volume_id", "contains '/', '\\' or '..'");
  }
  return absl::OkStatus();
}

/// What is never trimmed, whatever the volume.
absl::Status CheckCapability(const VolumeCapability& capability) {
  if (capability.access_mode().mode() ==
      VolumeCapability::AccessMode::MULTI_NODE_MULTI_WRITER) {
    return absl::UnimplementedError(
        "volumes of access mode MULTI_NODE_MULTI_WRITER are not trimmed: other "
        "nodes write to them, too");
  }
  if (capability.has_block()) {
    return absl::UnimplementedError(
        "block volumes are not trimmed: only the user of the device knows "
        "which of its blocks are free");
  }
  return absl::OkStatus();
}

AccessMode AccessOf(const VolumeCapability& capability) {
  switch (capability.access_mode().mode()) {
    case VolumeCapability::AccessMode::SINGLE_NODE_READER_ONLY:
    case VolumeCapability::AccessMode::MULTI_NODE_READER_ONLY:
      return AccessMode::kReader;
    default:
      return AccessMode::kWriter;
  }
}

absl::StatusOr<TrimRequest> Translate(
    const pb::NodeReclaimSpaceRequest& request) {
  ADDONS_RETURN_IF_ERROR(RequirePathSafeId(request.volume_id()));
  ADDONS_RETURN_IF_ERROR(
      RequirePlainPath("staging_target_path", request.staging_target_path()));
  ADDONS_RETURN_IF_ERROR(
      RequirePlainPath("volume_path", request.volume_path()));
  if (request.staging_target_path().empty() && request.volume_path().empty()) {
    return InvalidField("staging_target_path",
                        "is empty, and so is volume_path");
  }
  ADDONS_RETURN_IF_ERROR(CheckCapability(request.volume_capability()));

  TrimRequest trim;
  trim.volume_id = VolumeHandle(request.volume_id());
  trim.staging_path = request.staging_target_path();
  // ceph-csi mounts the volume in a directory inside the staging path.
  trim.path = trim.staging_path.empty()
                  ? request.volume_path()
                  : absl::StrCat(trim.staging_path, "/", trim.volume_id.text());
  trim.access = AccessOf(request.volume_capability());
  if (!request.secrets().empty()) {
    ADDONS_ASSIGN_OR_RETURN(
        trim.user,
        UserFromSecrets(TakeSecrets(request.secrets()), SecretSource::kVolume));
  }
  return trim;
}

OperationSpec SpecOf(const TrimRequest& request) {
  OperationSpec spec;
  // Its own key: a trim is one more user of a mounted filesystem, so no other
  // verb has to wait for it, least of all a failover.
  spec.keys = {absl::StrCat("trim/", request.volume_id.text())};
  spec.share = WorkerShare::OfNode();
  spec.verb = "trim";
  spec.object = absl::StrCat("volume '", request.volume_id.text(), "'");
  const CephUser nobody;
  spec.parameters = CallFingerprint(
      spec.verb, request.user != nullptr ? *request.user : nobody, {},
      {request.path});
  spec.lane = Lane::kBulk;
  spec.yields = true;  // a shutdown does not wait for hours
  spec.keep_result = true;
  return spec;
}

/// The numbers are the image's, as those of the controller's reclaim. What a
/// filesystem has asked for is none of them.
void Fill(const TrimResult& result, grpc::CallbackServerContext& context,
          pb::NodeReclaimSpaceResponse* response) {
  if (!result.image_before_bytes || !result.image_after_bytes) {
    context.AddTrailingMetadata(kAskedBytesTrailer,
                                absl::StrCat(result.asked_bytes));
    return;
  }
  response->mutable_pre_usage()->set_usage_bytes(
      static_cast<int64_t>(*result.image_before_bytes));
  response->mutable_post_usage()->set_usage_bytes(
      static_cast<int64_t>(*result.image_after_bytes));
}

}  // namespace

NodeReclaimService::NodeReclaimService(Rpc& rpc, OperationTable& operations,
                                       TrimEnvironment environment)
    : rpc_(rpc),
      operations_(operations),
      environment_(std::move(environment)) {}

grpc::ServerUnaryReactor* NodeReclaimService::NodeReclaimSpace(
    grpc::CallbackServerContext* context,
    const pb::NodeReclaimSpaceRequest* request,
    pb::NodeReclaimSpaceResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(TrimRequest trim, Translate(*request));
        const OperationSpec spec = SpecOf(trim);
        // The operation outlives the call, so it owns its request.
        auto owned = std::make_shared<const TrimRequest>(std::move(trim));
        return RunOperation<TrimResult>(
                   operations_, spec, call.caller,
                   [this, owned](OperationContext& operation) {
                     return Trim(operation, environment_, *owned);
                   })
            .Then([object = spec.object, gone = call.caller.gone, context,
                   response](const absl::StatusOr<TrimResult>& result) {
              if (!result.ok()) {
                return AnswerFor(result.status(), gone.stop_requested(),
                                 object);
              }
              Fill(*result, *context, response);
              return absl::OkStatus();
            });
      });
}

}  // namespace addons
