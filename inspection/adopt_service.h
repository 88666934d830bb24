#ifndef ADDONS_INSPECTION_ADOPT_SERVICE_H_
#define ADDONS_INSPECTION_ADOPT_SERVICE_H_

#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "history/event_log.h"
#include "lease/keeper.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// rbdaddons.admin.v1.Adoption: what is mirrored to this site gets its entry in
/// ceph-csi's journal here. Thread-safe.
class AdoptService final
    : public ::rbdaddons::admin::v1::Adoption::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) and `instance_id` (the driver's --instanceid) is owned;
  /// everything outlives the service.
  AdoptService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
               ClusterProvider& clusters, LeaseKeeper& leases,
               EventLog& history, std::vector<ClusterId> home,
               std::string instance_id);

  grpc::ServerUnaryReactor* AdoptVolumes(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::AdoptVolumesRequest* request,
      ::rbdaddons::admin::v1::AdoptVolumesResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  LeaseKeeper& leases_;
  EventLog& history_;
  const std::vector<ClusterId> home_;
  const std::string instance_id_;
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_ADOPT_SERVICE_H_
