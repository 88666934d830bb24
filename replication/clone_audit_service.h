#ifndef ADDONS_REPLICATION_CLONE_AUDIT_SERVICE_H_
#define ADDONS_REPLICATION_CLONE_AUDIT_SERVICE_H_

#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// rbdaddons.admin.v1.Audit: what is wrong in a pool although every status says
/// that all is well. Reads only, and takes no operation key. Thread-safe.
class CloneAuditService final
    : public ::rbdaddons::admin::v1::Audit::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) is owned; everything outlives the service.
  CloneAuditService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
                    ClusterProvider& clusters, std::vector<ClusterId> home);

  grpc::ServerUnaryReactor* ListMirroredClones(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListMirroredClonesRequest* request,
      ::rbdaddons::admin::v1::ListMirroredClonesResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  const std::vector<ClusterId> home_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_CLONE_AUDIT_SERVICE_H_
