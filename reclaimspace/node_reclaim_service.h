#ifndef ADDONS_RECLAIMSPACE_NODE_RECLAIM_SERVICE_H_
#define ADDONS_RECLAIMSPACE_NODE_RECLAIM_SERVICE_H_

#include "operation/operation_table.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "reclaimspace/trim.h"
#include "rpc/unary_call.h"

namespace addons {

/// reclaimspace.ReclaimSpaceNode: translates requests, hands them to the
/// operation table, translates results. Thread-safe.
class NodeReclaimService final
    : public ::reclaimspace::ReclaimSpaceNode::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  NodeReclaimService(Rpc& rpc, OperationTable& operations,
                     TrimEnvironment environment);

  grpc::ServerUnaryReactor* NodeReclaimSpace(
      grpc::CallbackServerContext* context,
      const ::reclaimspace::NodeReclaimSpaceRequest* request,
      ::reclaimspace::NodeReclaimSpaceResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  const TrimEnvironment environment_;
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_NODE_RECLAIM_SERVICE_H_
