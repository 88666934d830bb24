#ifndef ADDONS_REPLICATION_COPYING_SERVICE_H_
#define ADDONS_REPLICATION_COPYING_SERVICE_H_

#include "base/caller.h"
#include "base/clock.h"
#include "base/later.h"
#include "operation/operation_table.h"
#include "rbdaddons/admin.grpc.pb.h"
#include "replication/environment.h"
#include "replication/replication_service_call.h"
#include "replication/steps/sync.h"
#include "rpc/unary_call.h"

namespace addons {

/// rbdaddons.admin.v1.Copying: an administrator has what was written to a
/// volume copied now, or not copied for a while. Thread-safe.
class CopyingService final
    : public ::rbdaddons::admin::v1::Copying::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service.
  CopyingService(Rpc& rpc, OperationTable& operations,
                 ReplicationEnvironment& environment);

  grpc::ServerUnaryReactor* SyncVolume(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::SyncVolumeRequest* request,
      ::rbdaddons::admin::v1::SyncVolumeResponse* response) override;
  grpc::ServerUnaryReactor* AwaitSync(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::AwaitSyncRequest* request,
      ::rbdaddons::admin::v1::AwaitSyncResponse* response) override;
  grpc::ServerUnaryReactor* PauseVolume(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::PauseVolumeRequest* request,
      ::rbdaddons::admin::v1::PauseVolumeResponse* response) override;
  grpc::ServerUnaryReactor* ResumeVolume(
      grpc::CallbackServerContext* context,
      const ::rbdaddons::admin::v1::ResumeVolumeRequest* request,
      ::rbdaddons::admin::v1::ResumeVolumeResponse* response) override;

 private:
  /// A mirror snapshot that was begun at `called` or later. A call joins one
  /// that is being made; where that had begun before, it may lack what was
  /// written since, and another one is made.
  Later<absl::StatusOr<SyncSnapshot>> MakeSince(const SourceCall& call,
                                                const Caller& caller,
                                                SteadyTime called);

  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_COPYING_SERVICE_H_
