#ifndef ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_
#define ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_

#include "operation/operation_table.h"
#include "rpc/unary_call.h"
#include "volumegroup/environment.h"
#include "volumegroup/volumegroup.grpc.pb.h"

namespace addons {

/// volumegroup.Controller: translates requests, hands them to the operation
/// table, translates results. Thread-safe.
class VolumeGroupService final : public ::volumegroup::Controller::Service {
 public:
  /// Nothing is owned; everything outlives the service.
  VolumeGroupService(Rpc& rpc, OperationTable& operations,
                     const VolumeGroupEnvironment& environment)
      : rpc_(rpc), operations_(operations), environment_(environment) {}

  grpc::Status CreateVolumeGroup(
      grpc::ServerContext* context,
      const ::volumegroup::CreateVolumeGroupRequest* request,
      ::volumegroup::CreateVolumeGroupResponse* response) override;
  grpc::Status ModifyVolumeGroupMembership(
      grpc::ServerContext* context,
      const ::volumegroup::ModifyVolumeGroupMembershipRequest* request,
      ::volumegroup::ModifyVolumeGroupMembershipResponse* response) override;
  grpc::Status DeleteVolumeGroup(
      grpc::ServerContext* context,
      const ::volumegroup::DeleteVolumeGroupRequest* request,
      ::volumegroup::DeleteVolumeGroupResponse* response) override;
  grpc::Status ListVolumeGroups(
      grpc::ServerContext* context,
      const ::volumegroup::ListVolumeGroupsRequest* request,
      ::volumegroup::ListVolumeGroupsResponse* response) override;
  grpc::Status ControllerGetVolumeGroup(
      grpc::ServerContext* context,
      const ::volumegroup::ControllerGetVolumeGroupRequest* request,
      ::volumegroup::ControllerGetVolumeGroupResponse* response) override;

 private:
  Rpc& rpc_;
  OperationTable& operations_;
  const VolumeGroupEnvironment environment_;
};

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_
