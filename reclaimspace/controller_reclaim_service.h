#ifndef ADDONS_RECLAIMSPACE_CONTROLLER_RECLAIM_SERVICE_H_
#define ADDONS_RECLAIMSPACE_CONTROLLER_RECLAIM_SERVICE_H_

#include "operation/operation_table.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "reclaimspace/sparsify.h"
#include "rpc/unary_call.h"

namespace addons {

/// reclaimspace.ReclaimSpaceController: translates requests, hands them to the
/// operation table, translates results. Thread-safe.
class ControllerReclaimService final
    : public ::reclaimspace::ReclaimSpaceController::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service. `history` is told what
  /// was answered; null: nobody is.
  ControllerReclaimService(Rpc& rpc, OperationTable& operations,
                           Resolver& resolver, LeaseKeeper& leases,
                           const SparsifyOptions& options = {},
                           EventLog* history = nullptr);

  grpc::ServerUnaryReactor* ControllerReclaimSpace(
      grpc::CallbackServerContext* context,
      const ::reclaimspace::ControllerReclaimSpaceRequest* request,
      ::reclaimspace::ControllerReclaimSpaceResponse* response) override;

  const ReclaimStats& stats() const { return stats_; }

 private:
  /// What `call` asked for, what came of it, and what is answered.
  void Record(const SparsifyRequest& request, const std::string& request_id,
              const absl::StatusOr<SparsifyResult>& result,
              const absl::Status& answer);

  Rpc& rpc_;
  OperationTable& operations_;
  ReclaimStats stats_;
  SparsifyEnvironment environment_;
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_CONTROLLER_RECLAIM_SERVICE_H_
