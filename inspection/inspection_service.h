#ifndef ADDONS_INSPECTION_INSPECTION_SERVICE_H_
#define ADDONS_INSPECTION_INSPECTION_SERVICE_H_

#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/environment.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// rbdaddons.admin.v1.Inspection: what verbs of replication would do, and why.
/// Reads only, and takes no operation key. Thread-safe.
class InspectionService final
    : public ::rbdaddons::admin::v1::Inspection::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones whose
  /// pools are looked at; empty: all) and `instance_id` (ceph-csi's
  /// --instanceid) is owned; everything outlives the service.
  InspectionService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
                    ClusterProvider& clusters,
                    ReplicationEnvironment& environment,
                    std::vector<ClusterId> home, std::string instance_id);

  grpc::ServerUnaryReactor* CheckFailover(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::CheckFailoverRequest* request,
      ::rbdaddons::admin::v1::CheckFailoverResponse* response) override;
  grpc::ServerUnaryReactor* ExplainVolume(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ExplainVolumeRequest* request,
      ::rbdaddons::admin::v1::ExplainVolumeResponse* response) override;
  grpc::ServerUnaryReactor* ExplainGroup(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ExplainGroupRequest* request,
      ::rbdaddons::admin::v1::ExplainGroupResponse* response) override;
  grpc::ServerUnaryReactor* FindVolume(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::FindVolumeRequest* request,
      ::rbdaddons::admin::v1::FindVolumeResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  ReplicationEnvironment& environment_;
  const std::vector<ClusterId> home_;
  const std::string instance_id_;
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_INSPECTION_SERVICE_H_
