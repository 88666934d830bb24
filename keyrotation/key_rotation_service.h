#ifndef ADDONS_KEYROTATION_KEY_ROTATION_SERVICE_H_
#define ADDONS_KEYROTATION_KEY_ROTATION_SERVICE_H_

#include "encryptionkeyrotation/encryptionkeyrotation.grpc.pb.h"
#include "keyrotation/rotate.h"
#include "operation/operation_table.h"
#include "rpc/unary_call.h"

namespace addons {

/// encryptionkeyrotation.EncryptionKeyRotationController: translates requests,
/// hands them to the operation table, translates results. Thread-safe.
class KeyRotationService final
    : public ::encryptionkeyrotation::EncryptionKeyRotationController::
          CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  KeyRotationService(Rpc& rpc, OperationTable& operations,
                     RotationEnvironment environment);

  grpc::ServerUnaryReactor* EncryptionKeyRotate(
      grpc::CallbackServerContext* context,
      const ::encryptionkeyrotation::EncryptionKeyRotateRequest* request,
      ::encryptionkeyrotation::EncryptionKeyRotateResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  RotationEnvironment environment_;
};

}  // namespace addons

#endif  // ADDONS_KEYROTATION_KEY_ROTATION_SERVICE_H_
