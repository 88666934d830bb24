#ifndef ADDONS_ADMIN_ADMIN_SERVICE_H_
#define ADDONS_ADMIN_ADMIN_SERVICE_H_

#include <functional>
#include <memory>

#include "history/event_log.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// rbdaddons.admin.v1.Operations: what runs, and how to stop it. Asks the
/// operation table and nothing else, and is no operation itself, so it answers
/// also when all workers hang. Thread-safe.
class AdminService final
    : public ::rbdaddons::admin::v1::Operations::CallbackService {
 public:
  /// What the watch has seen last; null: it is off. Does not block.
  using Watched = std::function<std::shared_ptr<const WatchSnapshot>()>;

  /// Nothing is owned; everything outlives the service. `history` is told what
  /// was cancelled; null: nobody is. `watched` may be null: no operation has a
  /// name then.
  AdminService(Rpc& rpc, OperationTable& operations,
               EventLog* history = nullptr, Watched watched = nullptr);

  grpc::ServerUnaryReactor* ListOperations(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListOperationsRequest* request,
      ::rbdaddons::admin::v1::ListOperationsResponse* response) override;
  grpc::ServerUnaryReactor* CancelOperation(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::CancelOperationRequest* request,
      ::rbdaddons::admin::v1::CancelOperationResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  EventLog* const history_;
  const Watched watched_;
};

}  // namespace addons

#endif  // ADDONS_ADMIN_ADMIN_SERVICE_H_
