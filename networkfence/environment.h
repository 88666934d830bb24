#ifndef ADDONS_NETWORKFENCE_ENVIRONMENT_H_
#define ADDONS_NETWORKFENCE_ENVIRONMENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "ceph/cluster.h"
#include "history/event_log.h"
#include "networkfence/fence_rounds.h"
#include "networkfence/range_turns.h"
#include "node/linux_roots.h"
#include "volume/config_store.h"

namespace addons {

/// docs/networkfence.md explains those that can be set.
struct FenceOptions {
  /// The shortest masks that a request to fence may have.
  int shortest_mask_ipv4 = 8;
  int shortest_mask_ipv6 = 32;
  /// Whether a node's own fence is lifted when its addresses are asked for.
  bool auto_unfence = false;
  /// Ids of this site's clusters, the only ones that are asked; empty: all.
  std::vector<ClusterId> home{};
  /// Where this node shows what its kernel has mapped.
  LinuxRoots roots{};
  /// How long rbd-mirror's clients are looked for, and the OSDs waited for.
  std::chrono::milliseconds services_patience = std::chrono::seconds(5);
  std::chrono::milliseconds barrier_patience = std::chrono::seconds(5);
};

/// The cluster that is meant, as config.json calls it, and who asks.
struct FenceTarget {
  ClusterId cluster_id;
  CephUserRef user;
};

/// What all verbs of fencing share; it outlives them. The references are not
/// owned, and everything is thread-safe.
struct FenceEnvironment {
  ConfigStore& config;
  ClusterProvider& clusters;
  BoundedThreads& threads;
  FenceOptions options;
  RangeTurns turns{};
  FenceRounds rounds{};
  /// Told of each call that has reached its cluster; may be empty.
  std::function<void(const FenceTarget&)> asked{};
  EventLog* history = nullptr;  // told of changes; null: nobody is
};

/// What the cluster is called, in operations, messages and the history.
std::string NameOf(const FenceTarget& target);

/// Takes the cluster id literally, without cluster-mapping.json, as ceph-csi
/// does: a fence is about one cluster. NOT_FOUND: config.json has no such
/// cluster. FAILED_PRECONDITION: its entry is broken, or it is another site's.
/// Otherwise errors of ConfigStore::Current() and ClusterProvider::Connect(),
/// bounded as that.
absl::StatusOr<std::shared_ptr<Cluster>> ConnectCluster(
    FenceEnvironment& environment, const FenceTarget& target);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_ENVIRONMENT_H_
