#ifndef ADDONS_NETWORKFENCE_NETWORK_FENCE_SERVICE_H_
#define ADDONS_NETWORKFENCE_NETWORK_FENCE_SERVICE_H_

#include <functional>
#include <memory>

#include "base/bounded_threads.h"
#include "ceph/cluster.h"
#include "fence/fence.grpc.pb.h"
#include "history/event_log.h"
#include "networkfence/auto_unfence.h"
#include "networkfence/environment.h"
#include "networkfence/fence_clients.h"
#include "operation/operation_table.h"
#include "rpc/unary_call.h"
#include "volume/config_store.h"

namespace addons {

/// fence.FenceController: translates requests, hands them to the operation
/// table, translates results. Thread-safe.
class NetworkFenceService final
    : public ::fence::FenceController::CallbackService {
 public:
  /// Nothing is owned; everything outlives the service. `asked` and `history`
  /// as in FenceEnvironment.
  NetworkFenceService(Rpc& rpc, OperationTable& operations, ConfigStore& config,
                      ClusterProvider& clusters, const FenceOptions& options,
                      std::function<void(const FenceTarget&)> asked = {},
                      EventLog* history = nullptr);

  grpc::ServerUnaryReactor* FenceClusterNetwork(
      grpc::CallbackServerContext* context,
      const ::fence::FenceClusterNetworkRequest* request,
      ::fence::FenceClusterNetworkResponse* response) override;
  grpc::ServerUnaryReactor* UnfenceClusterNetwork(
      grpc::CallbackServerContext* context,
      const ::fence::UnfenceClusterNetworkRequest* request,
      ::fence::UnfenceClusterNetworkResponse* response) override;
  grpc::ServerUnaryReactor* ListClusterFence(
      grpc::CallbackServerContext* context,
      const ::fence::ListClusterFenceRequest* request,
      ::fence::ListClusterFenceResponse* response) override;
  grpc::ServerUnaryReactor* GetFenceClients(
      grpc::CallbackServerContext* context,
      const ::fence::GetFenceClientsRequest* request,
      ::fence::GetFenceClientsResponse* response) override;

 private:
  /// `reply`, which is told to the history with what was asked.
  Reply Recorded(HistoryEvent asked, Reply reply);
  /// What GetFenceClients does besides, when it is switched on; then `client`.
  /// Fails into the log: the addresses are what was asked for, and an error
  /// would keep the node from being registered.
  Later<absl::StatusOr<FenceClient>> LiftAutomaticFence(
      OperationSpec change, const Caller& caller,
      const std::shared_ptr<const FenceTarget>& target,
      const FenceClient& client);

  Rpc& rpc_;
  OperationTable& operations_;
  BoundedThreads threads_{"fence-barrier"};
  FenceEnvironment environment_;
  AutoUnfence auto_unfence_;
};

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_NETWORK_FENCE_SERVICE_H_
