#ifndef ADDONS_DOCTOR_DOCTOR_SERVICE_H_
#define ADDONS_DOCTOR_DOCTOR_SERVICE_H_

#include <functional>
#include <vector>

#include "ceph/cluster.h"
#include "doctor/check_cluster.h"
#include "doctor/finding.h"
#include "operation/operation_context.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// What is known of replication in a mirrored pool, always and before a
/// hand-over. Called on the operation's thread; reads only.
struct ReplicationChecks {
  using Check =
      std::function<Findings(OperationContext&, const MirroredPlace&)>;
  Check pace;
  Check before_handover;
};

/// rbdaddons.admin.v1.Doctor: whether the installation is in order. Reads only,
/// and takes no operation key. Thread-safe.
class DoctorService final
    : public ::rbdaddons::admin::v1::Doctor::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) is owned; everything outlives the service.
  DoctorService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
                ClusterProvider& clusters, std::vector<ClusterId> home,
                ReplicationChecks replication);

  grpc::ServerUnaryReactor* Diagnose(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::DiagnoseRequest* request,
      ::rbdaddons::admin::v1::DiagnoseResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  const std::vector<ClusterId> home_;
  const ReplicationChecks replication_;
};

}  // namespace addons

#endif  // ADDONS_DOCTOR_DOCTOR_SERVICE_H_
