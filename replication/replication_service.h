#ifndef ADDONS_REPLICATION_REPLICATION_SERVICE_H_
#define ADDONS_REPLICATION_REPLICATION_SERVICE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ceph/image.h"
#include "history/event.h"
#include "operation/operation_table.h"
#include "replication/destination.h"
#include "replication/environment.h"
#include "replication/group/members.h"
#include "replication/look/watched.h"
#include "replication/replication.grpc.pb.h"
#include "replication/replication_service_call.h"
#include "replication/resync_log.h"
#include "replication/steps/info.h"
#include "replication/steps/resync.h"
#include "rpc/unary_call.h"

namespace addons {

/// Who has asked for what, for the history: little, for thousands of calls may
/// wait for their answers.
struct AskedFor {
  std::string object;  // the volume's or group's id
  std::string verb;
  std::string user;
  std::string request;  // its id

  HistoryEvent Event() &&;
};

/// replication.Controller: translates requests, hands them to the operation
/// table, translates results. Thread-safe.
class ReplicationService final
    : public ::replication::Controller::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service. `watched` is told of
  /// the groups that calls are about.
  ReplicationService(Rpc& rpc, OperationTable& operations,
                     ReplicationEnvironment& environment,
                     WatchedClusters& watched);

  grpc::ServerUnaryReactor* EnableVolumeReplication(
      grpc::CallbackServerContext* context,
      const ::replication::EnableVolumeReplicationRequest* request,
      ::replication::EnableVolumeReplicationResponse* response) override;
  grpc::ServerUnaryReactor* DisableVolumeReplication(
      grpc::CallbackServerContext* context,
      const ::replication::DisableVolumeReplicationRequest* request,
      ::replication::DisableVolumeReplicationResponse* response) override;
  grpc::ServerUnaryReactor* PromoteVolume(
      grpc::CallbackServerContext* context,
      const ::replication::PromoteVolumeRequest* request,
      ::replication::PromoteVolumeResponse* response) override;
  grpc::ServerUnaryReactor* DemoteVolume(
      grpc::CallbackServerContext* context,
      const ::replication::DemoteVolumeRequest* request,
      ::replication::DemoteVolumeResponse* response) override;
  grpc::ServerUnaryReactor* ResyncVolume(
      grpc::CallbackServerContext* context,
      const ::replication::ResyncVolumeRequest* request,
      ::replication::ResyncVolumeResponse* response) override;
  grpc::ServerUnaryReactor* GetVolumeReplicationInfo(
      grpc::CallbackServerContext* context,
      const ::replication::GetVolumeReplicationInfoRequest* request,
      ::replication::GetVolumeReplicationInfoResponse* response) override;
  grpc::ServerUnaryReactor* GetReplicationDestinationInfo(
      grpc::CallbackServerContext* context,
      const ::replication::GetReplicationDestinationInfoRequest* request,
      ::replication::GetReplicationDestinationInfoResponse* response) override;

 private:
  /// `reply`; where it is OK the volume's points are made by `plan` from now
  /// on, or by none.
  Reply PlanPoints(const SourceCall& call, PointPlan plan, Reply reply);
  /// The same of a group's members: `done`.
  absl::Status PlanGroupPoints(const GroupTarget& target, const PointPlan& plan,
                               absl::Status done);
  /// `reply`, which is told to the history with what was asked.
  Reply Recorded(AskedFor asked, Reply reply);
  void Locate(const GroupTarget& target);
  /// A verb as one operation on a volume, or on a group and its members, told
  /// to the history.
  template <typename Request>
  Reply RunVolumeVerb(const SourceCall& call, const CallContext& rpc_call,
                      Request request,
                      absl::Status (*verb)(OperationContext&,
                                           ReplicationEnvironment&,
                                           const Request&));
  template <typename Result>
  using GroupVerb =
      std::function<Result(OperationContext&, const GroupTarget&)>;
  Reply RunGroupVerb(const SourceCall& call, const CallContext& rpc_call,
                     GroupVerb<absl::Status> verb);
  /// RunOnGroup(), and the history learns where the group is.
  template <typename Result>
  Later<absl::StatusOr<Result>> RunLocated(
      const SourceCall& call, const CallContext& rpc_call,
      GroupVerb<absl::StatusOr<Result>> verb);

  /// Making up for what volumes lack, one after the other.
  struct Upkeep {
    std::vector<VolumeHandle> volumes;
    CephUserRef user;
    Caller caller;  // has a deadline
    size_t next = 0;
    bool any = false;
  };

  /// How many volumes are primary since without any mirror snapshot schedule.
  Later<absl::StatusOr<size_t>> RunPromotion(
      const SourceCall& call, Force force,
      const ReplicationParameters& parameters, const CallContext& rpc_call);
  Later<absl::StatusOr<ResyncResult>> RunResync(const SourceCall& call,
                                                Force force,
                                                const CallContext& rpc_call);
  Later<absl::StatusOr<ReplicationInfo>> ReadInfo(const SourceCall& call,
                                                  const Caller& caller);
  /// `info`, or what there is to tell when that was made up for which it says.
  Later<absl::StatusOr<ReplicationInfo>> ReadInfoAfterUpkeep(
      const SourceCall& call, const Caller& caller, ReplicationInfo info);
  /// Whether anything was made up for.
  Later<bool> RunUpkeep(Upkeep upkeep);
  Reply FindOfGroup(
      const SourceCall& call, const Caller& caller,
      ::replication::GetReplicationDestinationInfoResponse* response);
  Reply FindOfVolume(
      const SourceCall& call, const Caller& caller,
      ::replication::GetReplicationDestinationInfoResponse* response);

  Rpc& rpc_;
  OperationTable& operations_;
  ReplicationEnvironment& environment_;
  WatchedClusters& watched_;
  DestinationFinder destinations_;
  ResyncLog resyncs_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_REPLICATION_SERVICE_H_
