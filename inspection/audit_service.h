#ifndef ADDONS_REPLICATION_AUDIT_AUDIT_SERVICE_H_
#define ADDONS_REPLICATION_AUDIT_AUDIT_SERVICE_H_

#include <string>
#include <vector>

#include "base/bounded_threads.h"
#include "ceph/cluster.h"
#include "lease/keeper.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// rbdaddons.admin.v1.Audit: what is wrong in a pool although every status says
/// that all is well, and the repair of what a daemon may repair. The audit
/// reads only, and takes no operation key. Thread-safe.
class AuditService final
    : public ::rbdaddons::admin::v1::Audit::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) and `instance_id` (the driver's --instanceid) is owned;
  /// everything outlives the service.
  AuditService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
               ClusterProvider& clusters, LeaseKeeper& leases,
               std::vector<ClusterId> home, std::string instance_id);

  grpc::ServerUnaryReactor* AuditPool(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::AuditPoolRequest* request,
      ::rbdaddons::admin::v1::AuditPoolResponse* response) override;
  grpc::ServerUnaryReactor* RepairPool(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::RepairPoolRequest* request,
      ::rbdaddons::admin::v1::RepairPoolResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  LeaseKeeper& leases_;
  const std::vector<ClusterId> home_;
  const std::string instance_id_;
  // That look for the clients of rbd-mirror.
  BoundedThreads threads_{"audit"};
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_AUDIT_AUDIT_SERVICE_H_
