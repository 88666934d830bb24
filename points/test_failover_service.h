#ifndef ADDONS_POINTS_TEST_FAILOVER_SERVICE_H_
#define ADDONS_POINTS_TEST_FAILOVER_SERVICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cluster_id.h"
#include "ceph/cluster.h"
#include "operation/operation_table.h"
#include "points/started_tests.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/environment.h"
#include "rpc/unary_call.h"

namespace addons {

/// rbdaddons.admin.v1.TestFailovers: an application is tried with a point on
/// the site that would take over. Thread-safe.
class TestFailoverService final
    : public ::rbdaddons::admin::v1::TestFailovers::CallbackService {
 public:
  /// Nothing but `home` (the clusters of this site, the only ones that are
  /// asked; empty: all) and `driver_name` is owned; everything outlives the
  /// service.
  TestFailoverService(Rpc& rpc, OperationTable& operations,
                      ReplicationEnvironment& environment,
                      ClusterProvider& clusters, std::vector<ClusterId> home,
                      std::string driver_name);

  grpc::ServerUnaryReactor* StartTest(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::StartTestRequest* request,
      ::rbdaddons::admin::v1::StartTestResponse* response) override;
  grpc::ServerUnaryReactor* ListTests(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListTestsRequest* request,
      ::rbdaddons::admin::v1::ListTestsResponse* response) override;
  grpc::ServerUnaryReactor* StopTest(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::StopTestRequest* request,
      ::rbdaddons::admin::v1::StopTestResponse* response) override;

 private:
  absl::StatusOr<StartedTest> Stop(OperationContext& operation,
                                   const VolumeTarget& target);

  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
  ClusterProvider& clusters_;
  const std::vector<ClusterId> home_;
  const std::string driver_name_;
};

}  // namespace addons

#endif  // ADDONS_POINTS_TEST_FAILOVER_SERVICE_H_
