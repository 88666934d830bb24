#ifndef ADDONS_REPLICATION_REPLICATION_SERVICE_H_
#define ADDONS_REPLICATION_REPLICATION_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "ceph/image.h"
#include "operation/operation_table.h"
#include "replication/destination.h"
#include "replication/environment.h"
#include "replication/info.h"
#include "replication/replication.grpc.pb.h"
#include "replication/replication_service_call.h"
#include "replication/resync.h"
#include "replication/resync_log.h"
#include "rpc/unary_call.h"

namespace addons {

/// replication.Controller: translates requests, hands them to the operation
/// table, translates results. Thread-safe.
class ReplicationService final : public ::replication::Controller::Service {
 public:
  /// Nothing is owned; everything outlives the service.
  ReplicationService(Rpc& rpc, OperationTable& operations,
                     ReplicationEnvironment& environment);

  grpc::Status EnableVolumeReplication(
      grpc::ServerContext* context,
      const ::replication::EnableVolumeReplicationRequest* request,
      ::replication::EnableVolumeReplicationResponse* response) override;
  grpc::Status DisableVolumeReplication(
      grpc::ServerContext* context,
      const ::replication::DisableVolumeReplicationRequest* request,
      ::replication::DisableVolumeReplicationResponse* response) override;
  grpc::Status PromoteVolume(
      grpc::ServerContext* context,
      const ::replication::PromoteVolumeRequest* request,
      ::replication::PromoteVolumeResponse* response) override;
  grpc::Status DemoteVolume(
      grpc::ServerContext* context,
      const ::replication::DemoteVolumeRequest* request,
      ::replication::DemoteVolumeResponse* response) override;
  grpc::Status ResyncVolume(
      grpc::ServerContext* context,
      const ::replication::ResyncVolumeRequest* request,
      ::replication::ResyncVolumeResponse* response) override;
  grpc::Status GetVolumeReplicationInfo(
      grpc::ServerContext* context,
      const ::replication::GetVolumeReplicationInfoRequest* request,
      ::replication::GetVolumeReplicationInfoResponse* response) override;
  grpc::Status GetReplicationDestinationInfo(
      grpc::ServerContext* context,
      const ::replication::GetReplicationDestinationInfoRequest* request,
      ::replication::GetReplicationDestinationInfoResponse* response) override;

 private:
  absl::StatusOr<ResyncResult> RunResync(SourceCall call, Force force,
                                         const CallContext& rpc_call);
  absl::StatusOr<ReplicationInfo> ReadInfo(const SourceCall& call,
                                           const Caller& caller);
  /// Whether anything was made up for.
  bool RunUpkeep(const std::vector<VolumeHandle>& volumes,
                 const CephUserRef& user, const Caller& caller);

  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
  DestinationFinder destinations_;
  ResyncLog resyncs_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_REPLICATION_SERVICE_H_
