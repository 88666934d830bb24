#ifndef ADDONS_CEPH_LIBRADOS_CONNECTION_CACHE_H_
#define ADDONS_CEPH_LIBRADOS_CONNECTION_CACHE_H_

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic.h"
#include "ceph/cluster.h"
#include "ceph/librados/cached_cluster.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/client_environment.h"
#include "ceph/librados/shared_slot.h"

namespace addons {

struct ConnectionCacheOptions {
  ConnectionTimeouts timeouts;
  /// Connections that nobody has used for so long are closed.
  std::chrono::seconds idle{600};
  /// How often idle ones are looked for.
  std::chrono::milliseconds sweep_interval = std::chrono::minutes(1);
};

/// The ClusterProvider of the daemon: keeps the clusters that were connected,
/// one per (monitors, user, key). The key's text is not kept here, only its
/// fingerprint. Clusters are in use while somebody holds them, so a cluster
/// that the cache drops lives on until then. A failure to connect is not
/// remembered. Thread-safe.
class ConnectionCache final : public ClusterProvider {
 public:
  using ConnectFn =
      std::function<absl::StatusOr<std::shared_ptr<CachedCluster>>(
          const ClusterTarget&, const CephUserRef&)>;

  /// Connects with librados; all calls go through `gate`. `clock` must outlive
  /// the cache.
  ConnectionCache(ConnectionCacheOptions options, Clock& clock,
                  std::shared_ptr<CallGate> gate);
  /// Connects with `connect`, which must be bounded and thread-safe.
  ConnectionCache(ConnectionCacheOptions options, Clock& clock,
                  ConnectFn connect);

  absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& target, const CephUserRef& user) override;

  /// Closes what is idle. Connect() does it as well, and a thread of the cache
  /// every sweep_interval, for a daemon that nobody calls. May block for as
  /// long as librados needs to shut down.
  void Sweep();

 private:
  struct Entry {
    SharedSlot<CachedCluster> slot;
    SteadyTime last_used;
  };
  using Entries = std::map<std::string, std::shared_ptr<Entry>>;

  std::vector<std::shared_ptr<Entry>> TakeIdle()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionCacheOptions options_;
  Clock& clock_;
  const ConnectFn connect_;
  Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  const Periodic sweeper_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CONNECTION_CACHE_H_
