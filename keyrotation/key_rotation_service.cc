#include "keyrotation/key_rotation_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operation/job_answer.h"
#include "operation/run_operation.h"
#include "rpc/secrets.h"
#include "rpc/validate.h"
#include "volume/credentials.h"

namespace addons {
namespace {

namespace pb = ::encryptionkeyrotation;

/// What cryptsetup takes from a terminal.
constexpr size_t kMaxKeyBytes = 512;

/// A value of the Secret as it is: ceph-csi does not cut line ends off either.
Secret TakeValue(const SecretMap& secrets, const char* key) {
  const auto it = secrets.find(key);
  return it == secrets.end() ? Secret() : it->second.Clone();
}

absl::StatusOr<RotationRequest> Translate(
    const pb::EncryptionKeyRotateRequest& request) {
  ADDONS_RETURN_IF_ERROR(Require("volume_id", request.volume_id()));
  ADDONS_RETURN_IF_ERROR(RequireAbsolute("volume_path", request.volume_path()));
  if (request.encryption_key().size() > kMaxKeyBytes) {
    return InvalidField("encryption_key", absl::StrCat("is longer than ",
                                                       kMaxKeyBytes, " bytes"));
  }
  const SecretMap secrets = TakeSecrets(request.secrets());
  RotationRequest rotation;
  rotation.volume_id = VolumeHandle(request.volume_id());
  ADDONS_ASSIGN_OR_RETURN(rotation.user,
                          UserFromSecrets(secrets, SecretSource::kVolume));
  rotation.secret_passphrase = TakeValue(secrets, "encryptionPassphrase");
  rotation.previous_passphrase =
      TakeValue(secrets, "previousEncryptionPassphrase");
  rotation.wanted = Secret(request.encryption_key());
  return rotation;
}

OperationSpec SpecOf(const RotationRequest& request) {
  OperationSpec spec;
  // Its own key: no other verb has to wait for it, least of all a failover.
  spec.keys = {absl::StrCat("keyrotation/", request.volume_id.text())};
  spec.share = WorkerShare::OfNode();
  spec.verb = "rotate";
  spec.action = "rotate the key of";
  spec.object = absl::StrCat("volume '", request.volume_id.text(), "'");
  spec.parameters = CallFingerprint(spec.verb, *request.user, {},
                                    {request.secret_passphrase.Fingerprint(),
                                     request.previous_passphrase.Fingerprint(),
                                     request.wanted.Fingerprint()});
  spec.keep_result = true;
  return spec;
}

}  // namespace

KeyRotationService::KeyRotationService(Rpc& rpc, OperationTable& operations,
                                       RotationEnvironment environment)
    : rpc_(rpc),
      operations_(operations),
      environment_(std::move(environment)) {}

grpc::ServerUnaryReactor* KeyRotationService::EncryptionKeyRotate(
    grpc::CallbackServerContext* context,
    const pb::EncryptionKeyRotateRequest* request,
    pb::EncryptionKeyRotateResponse* response) {
  return UnaryCall(
      rpc_, *context, *request, *response,
      [&](const CallContext& call) -> Reply {
        ADDONS_ASSIGN_OR_RETURN(RotationRequest rotation, Translate(*request));
        const OperationSpec spec = SpecOf(rotation);
        // The operation outlives the call, so it owns its request.
        auto owned =
            std::make_shared<const RotationRequest>(std::move(rotation));
        return RunOperation(operations_, spec, call.caller,
                            [this, owned](OperationContext& operation) {
                              return Rotate(operation, environment_, *owned);
                            })
            .Then([](const absl::Status& status) {
              return AbortedIfTransient(status);
            });
      });
}

}  // namespace addons
