#ifndef ADDONS_SERVER_APP_H_
#define ADDONS_SERVER_APP_H_

#include <grpcpp/impl/service_type.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/start_thread.h"
#include "ceph/cluster.h"
#include "ceph/librados/call_gate.h"
#include "history/writer.h"
#include "identity/csi_identity_service.h"
#include "identity/identity_service.h"
#include "operation/operation_table.h"
#include "points/point_keeper.h"
#include "rpc/unary_call.h"
#include "server/config.h"
#include "server/http_server.h"
#include "server/services.h"
#include "server/status_page.h"
#include "volume/config_store.h"
#include "volume/resolver.h"
#include "watch/background_upkeep.h"
#include "watch/mirror_restart_watch.h"
#include "watch/own_watch.h"
#include "watch/replication_watch.h"

namespace addons {

struct SocketConnections;
class SocketServer;
class SupportService;

/// What the process gives to the daemon besides its configuration.
struct AppParts {
  std::unique_ptr<ClusterProvider> clusters;
  /// Versions of libraries and the like, for GetIdentity; that of "librados"
  /// also for metrics.
  std::map<std::string, std::string> manifest;
  /// CallGate::Snapshot() of those clusters, for metrics; may be empty.
  std::function<std::vector<CallHistogram>()> ceph_calls;
  Clock* clock = &RealClock();               // not owned
  ThreadStarter start_thread = StartThread;  // tests give one of their own
};

/// The running daemon: all objects, the sockets with their servers, and the
/// metrics and probes over HTTP. It serves from Create() to Shutdown(). Nothing
/// in Create() waits for Ceph.
class App {
 public:
  /// The socket's errors are UnixListener::Open()'s, those of the metrics' port
  /// HttpServer::Start()'s. RESOURCE_EXHAUSTED: no thread can be started.
  static absl::StatusOr<std::unique_ptr<App>> Create(Config config,
                                                     AppParts parts);
  /// Shutdown() without grace, where it was not called.
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Health turns NOT_SERVING, no new connections and calls; running operations
  /// and the calls that wait for them get `grace` to end. True when all did.
  /// When false, threads may still be inside Ceph: the process has to leave
  /// without destroying the App. The sockets are gone in both cases, and at
  /// once. To destroy the App may still take long: it waits for calls that were
  /// given up. Idempotent; not thread-safe.
  bool Shutdown(std::chrono::milliseconds grace);

  /// Returns when the daemon's tables could be read, which is at once unless it
  /// hangs; asks no cluster. Thread-safe.
  void ProveAlive() const;
  /// Reads the configuration files now, and says so in the log. They are read
  /// when they change in any case. Thread-safe.
  void ReloadConfiguration();

  Rpc& rpc() { return rpc_; }
  /// Where metrics are served; empty: nowhere.
  std::string metrics_url() const;

 private:
  App(Config config, AppParts parts);

  absl::Status Serve();
  absl::Status ServeMetrics();
  std::string Metrics();
  absl::Status OpenSockets();
  absl::Status StartServers();
  std::vector<SocketConnections> Connections() const;
  absl::StatusOr<bool> Ready();
  HttpReply ReadyReply();
  StatusPage PageNow(absl::string_view query);
  std::string SiteName(const std::vector<ConfiguredCluster>& clusters) const;
  std::vector<HttpPage> Pages();
  std::vector<ConfiguredCluster> ConfiguredClusters();
  bool AwaitServers(std::chrono::milliseconds at_most);

  const Config config_;
  Clock& clock_;
  Rpc rpc_;
  ConfigStore config_store_;
  std::unique_ptr<ClusterProvider> clusters_;
  Resolver resolver_;
  // Operations run with what the services own, so it outlives the table, which
  // waits for them when it is destroyed.
  ServiceSet domain_;
  OperationTable operations_;
  const std::function<std::vector<CallHistogram>()> ceph_calls_;
  const std::string librados_;  // of AppParts::manifest
  const ThreadStarter start_thread_;
  std::unique_ptr<IdentityService> identity_;
  std::unique_ptr<CsiIdentityService> csi_identity_;
  std::unique_ptr<IdentityService> admin_identity_;
  std::unique_ptr<SupportService> support_;   // of administrators
  std::unique_ptr<BackgroundUpkeep> upkeep_;  // null: nothing is replicated
  std::unique_ptr<PointKeeper> points_;       // likewise
  std::function<PlannedPointCounts()> planned_points_;  // of it; likewise
  std::unique_ptr<MirrorRestartWatch> restarts_;        // likewise
  std::unique_ptr<HistoryWriter> history_;   // null: likewise, or switched off
  std::unique_ptr<ReplicationWatch> watch_;  // likewise, or it is off
  ReplicationWatch::Source watched_;         // what it sees; empty: it is off
  std::unique_ptr<OwnWatch> own_watch_;      // uses watch_; or it is off
  std::unique_ptr<SocketServer> callers_;    // of CSI-Addons
  std::unique_ptr<SocketServer> administrators_;  // null: not served
  std::unique_ptr<HttpServer> metrics_;
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
  bool shut_down_ = false;
  bool drained_ = true;
};

}  // namespace addons

#endif  // ADDONS_SERVER_APP_H_
