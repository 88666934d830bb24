#ifndef ADDONS_DOCTOR_DOCTOR_SERVICE_H_
#define ADDONS_DOCTOR_DOCTOR_SERVICE_H_

#include <cstdint>
#include <vector>

#include "ceph/cluster.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// rbdaddons.admin.v1.Doctor: whether the installation is in order. Reads only,
/// and takes no operation key. Thread-safe.
class DoctorService final
    : public ::rbdaddons::admin::v1::Doctor::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) is owned; everything outlives the service.
  DoctorService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
                ClusterProvider& clusters, std::vector<ClusterId> home);

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
};

}  // namespace addons

#endif  // ADDONS_DOCTOR_DOCTOR_SERVICE_H_
