#include "reclaimspace/controller_reclaim_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"
#include "operation/job_answer.h"
#include "operation/run_operation.h"
#include "reclaimspace/reclaim_answer.h"
#include "rpc/parameters.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"
#include "volume/migrated_handle.h"

namespace addons {
namespace {

namespace pb = ::reclaimspace;

/// The operator passes the attributes of the PersistentVolume on.
constexpr char kStaticVolume[] = "staticVolume";

/// What no journal has, and what is done on its node alone: said as what it is,
/// because the operator begins six times, and at each cron time again, after
/// any other code than UNIMPLEMENTED.
absl::Status CheckApplies(const pb::ControllerReclaimSpaceRequest& request) {
  const auto& attributes = request.parameters();
  const auto attribute = attributes.find(kStaticVolume);
  bool is_static = false;
  if (attribute != attributes.end() &&
      !absl::SimpleAtob(attribute->second, &is_static)) {
    return InvalidParameter(kStaticVolume, attribute->second,
                            "must be 'true' or 'false'");
  }
  const bool migrated = IsMigratedHandle(request.volume_id());
  if (!is_static && !migrated) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "volume '", absl::CHexEscape(request.volume_id()), "' is ",
      migrated ? "one that was migrated from the in-tree plugin"
               : "a static volume (staticVolume in its attributes)",
      ", which no journal has: there is nothing to do on the controller; its "
      "filesystem is trimmed on the node where it is mounted"));
}

absl::StatusOr<SparsifyRequest> Translate(
    const pb::ControllerReclaimSpaceRequest& request) {
  ADDONS_RETURN_IF_ERROR(Require("volume_id", request.volume_id()));
  ADDONS_RETURN_IF_ERROR(CheckApplies(request));
  SparsifyRequest sparsify;
  sparsify.volume_id = VolumeHandle(request.volume_id());
  ADDONS_ASSIGN_OR_RETURN(
      sparsify.parameters,
      ReclaimParameters::Parse(TakeParameters(request.parameters())));
  ADDONS_ASSIGN_OR_RETURN(
      sparsify.user,
      UserFromSecrets(TakeSecrets(request.secrets()), SecretSource::kVolume));
  return sparsify;
}

/// Asks no cluster.
absl::StatusOr<OperationSpec> SpecOf(Resolver& resolver,
                                     const SparsifyRequest& request) {
  ADDONS_ASSIGN_OR_RETURN(const OperationKey key,
                          resolver.KeyOfVolume(request.volume_id));
  OperationSpec spec;
  spec.share = WorkerShare::OfCluster(key.cluster_id);
  spec.keys = {key.ToString()};
  spec.verb = "sparsify";
  spec.object = absl::StrCat("volume '", request.volume_id.text(), "'");
  const bool with_snapshots =
      request.parameters.with_snapshots == WithSnapshots::kYes;
  spec.parameters = CallFingerprint(
      spec.verb, *request.user,
      {{"sparse bytes", absl::StrCat(request.parameters.sparse_bytes)},
       {"with snapshots", with_snapshots ? "yes" : "no"}});
  spec.lane = Lane::kBulk;
  spec.yields = true;
  spec.keep_result = true;
  return spec;
}

/// "finished; 4096 bytes freed".
std::string TextOf(const SparsifyResult& result) {
  const uint64_t freed = result.FreedBytes();
  return freed == 0 ? result.reason
                    : absl::StrCat(result.reason, "; ", freed, " bytes freed");
}

void Fill(const SparsifyResult& result,
          pb::ControllerReclaimSpaceResponse* response) {
  if (result.before_bytes) {
    response->mutable_pre_usage()->set_usage_bytes(
        static_cast<int64_t>(*result.before_bytes));
  }
  if (result.after_bytes) {
    response->mutable_post_usage()->set_usage_bytes(
        static_cast<int64_t>(*result.after_bytes));
  }
}

}  // namespace

ControllerReclaimService::ControllerReclaimService(
    Rpc& rpc, OperationTable& operations, Resolver& resolver,
    LeaseKeeper& leases, const SparsifyOptions& options, EventLog* history)
    : rpc_(rpc),
      operations_(operations),
      environment_{resolver, leases, stats_, options, history} {}

void ControllerReclaimService::Record(
    const SparsifyRequest& request, const std::string& request_id,
    const absl::StatusOr<SparsifyResult>& result, const absl::Status& answer) {
  if (environment_.history == nullptr) return;
  HistoryEvent event;
  event.object = request.volume_id.text();
  event.verb = "reclaim space";
  event.user = request.user->id;
  event.request = request_id;
  event.code = absl::StatusCodeToString(answer.code());
  event.text =
      result.ok() ? TextOf(*result) : std::string(result.status().message());
  environment_.history->Add(std::move(event));
}

grpc::ServerUnaryReactor* ControllerReclaimService::ControllerReclaimSpace(
    grpc::CallbackServerContext* context,
    const pb::ControllerReclaimSpaceRequest* request,
    pb::ControllerReclaimSpaceResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(SparsifyRequest sparsify, Translate(*request));
        const auto spec = SpecOf(environment_.resolver, sparsify);
        if (!spec.ok()) return AbortedIfTransient(spec.status());
        // The operation outlives the call, so it owns its request.
        auto owned =
            std::make_shared<const SparsifyRequest>(std::move(sparsify));
        return RunOperation<SparsifyResult>(
                   operations_, *spec, call.caller,
                   [this, owned](OperationContext& operation) {
                     return Sparsify(operation, environment_, *owned);
                   })
            .Then([this, owned, request_id = call.caller.request_id,
                   object = spec->object, gone = call.caller.gone,
                   response](const absl::StatusOr<SparsifyResult>& result) {
              absl::Status answer;
              if (result.ok()) {
                Fill(*result, response);
              } else {
                answer =
                    AnswerFor(result.status(), gone.stop_requested(), object);
              }
              Record(*owned, request_id, result, answer);
              return answer;
            });
      });
}

}  // namespace addons
