#ifndef ADDONS_INSPECTION_RESCUE_SERVICE_H_
#define ADDONS_INSPECTION_RESCUE_SERVICE_H_

#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/environment.h"
#include "rpc/unary_call.h"

namespace addons {

/// rbdaddons.admin.v1.Rescues: what an administrator decides where a forced
/// promotion in the middle of a copy cannot. Thread-safe.
class RescueService final
    : public ::rbdaddons::admin::v1::Rescues::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  RescueService(Rpc& rpc, OperationTable& operations,
                ReplicationEnvironment& environment);

  grpc::ServerUnaryReactor* DecideRescue(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::DecideRescueRequest* request,
      ::rbdaddons::admin::v1::DecideRescueResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_RESCUE_SERVICE_H_
