#ifndef ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_
#define ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_

#include <utility>

#include "history/event.h"
#include "operation/operation_table.h"
#include "rpc/unary_call.h"
#include "volumegroup/environment.h"
#include "volumegroup/volumegroup.grpc.pb.h"

namespace addons {

/// volumegroup.Controller: translates requests, hands them to the operation
/// table, translates results. Thread-safe.
class VolumeGroupService final
    : public ::volumegroup::Controller::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  VolumeGroupService(Rpc& rpc, OperationTable& operations,
                     VolumeGroupEnvironment environment)
      : rpc_(rpc),
        operations_(operations),
        environment_(std::move(environment)) {}

  grpc::ServerUnaryReactor* CreateVolumeGroup(
      grpc::CallbackServerContext* context,
      const ::volumegroup::CreateVolumeGroupRequest* request,
      ::volumegroup::CreateVolumeGroupResponse* response) override;
  grpc::ServerUnaryReactor* ModifyVolumeGroupMembership(
      grpc::CallbackServerContext* context,
      const ::volumegroup::ModifyVolumeGroupMembershipRequest* request,
      ::volumegroup::ModifyVolumeGroupMembershipResponse* response) override;
  grpc::ServerUnaryReactor* DeleteVolumeGroup(
      grpc::CallbackServerContext* context,
      const ::volumegroup::DeleteVolumeGroupRequest* request,
      ::volumegroup::DeleteVolumeGroupResponse* response) override;
  grpc::ServerUnaryReactor* ListVolumeGroups(
      grpc::CallbackServerContext* context,
      const ::volumegroup::ListVolumeGroupsRequest* request,
      ::volumegroup::ListVolumeGroupsResponse* response) override;
  grpc::ServerUnaryReactor* ControllerGetVolumeGroup(
      grpc::CallbackServerContext* context,
      const ::volumegroup::ControllerGetVolumeGroupRequest* request,
      ::volumegroup::ControllerGetVolumeGroupResponse* response) override;

 private:
  /// Tells the history what came of a call.
  void Record(HistoryEvent asked, const absl::Status& status) const;

  Rpc& rpc_;
  OperationTable& operations_;
  const VolumeGroupEnvironment environment_;
};

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_VOLUMEGROUP_SERVICE_H_
