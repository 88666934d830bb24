#ifndef ADDONS_POINTS_POINTS_SERVICE_H_
#define ADDONS_POINTS_POINTS_SERVICE_H_

#include <string>

#include "absl/status/status.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/environment.h"
#include "rpc/unary_call.h"

namespace addons {

/// What a person may call a point. INVALID_ARGUMENT: as plans and groups call
/// theirs, whose names tell what they are.
absl::Status CheckGivenName(const std::string& name);

/// rbdaddons.admin.v1.Points: proof that the copy of a volume is whole.
/// Thread-safe.
class PointsService final
    : public ::rbdaddons::admin::v1::Points::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  PointsService(Rpc& rpc, OperationTable& operations,
                ReplicationEnvironment& environment);

  grpc::ServerUnaryReactor* CreatePoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::CreatePointRequest* request,
      ::rbdaddons::admin::v1::CreatePointResponse* response) override;
  grpc::ServerUnaryReactor* DigestPoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::DigestPointRequest* request,
      ::rbdaddons::admin::v1::DigestPointResponse* response) override;
  grpc::ServerUnaryReactor* ListPoints(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListPointsRequest* request,
      ::rbdaddons::admin::v1::ListPointsResponse* response) override;
  grpc::ServerUnaryReactor* RemovePoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::RemovePointRequest* request,
      ::rbdaddons::admin::v1::RemovePointResponse* response) override;
  grpc::ServerUnaryReactor* RollBack(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::RollBackRequest* request,
      ::rbdaddons::admin::v1::RollBackResponse* response) override;
  grpc::ServerUnaryReactor* VerifyPoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::VerifyPointRequest* request,
      ::rbdaddons::admin::v1::VerifyPointResponse* response) override;

  // Of volume groups: points_service_groups.cc.
  grpc::ServerUnaryReactor* CreateGroupPoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::CreateGroupPointRequest* request,
      ::rbdaddons::admin::v1::CreateGroupPointResponse* response) override;
  grpc::ServerUnaryReactor* ListGroupPoints(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ListGroupPointsRequest* request,
      ::rbdaddons::admin::v1::ListGroupPointsResponse* response) override;
  grpc::ServerUnaryReactor* RemoveGroupPoint(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::RemoveGroupPointRequest* request,
      ::rbdaddons::admin::v1::RemoveGroupPointResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
};

}  // namespace addons

#endif  // ADDONS_POINTS_POINTS_SERVICE_H_
