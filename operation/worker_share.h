#ifndef ADDONS_OPERATION_WORKER_SHARE_H_
#define ADDONS_OPERATION_WORKER_SHARE_H_

#include <compare>
#include <utility>

#include "base/cluster_id.h"

namespace addons {

/// Whose workers an operation uses. Of each lane a share has at most
/// LaneLimits::workers_per_cluster at a time, so that operations which hang in
/// one place leave workers to those of others.
struct WorkerShare {
  enum class Kind {
    /// What asks OSDs of a cluster: all verbs but those below.
    kCluster,
    /// Fencing of a cluster. It asks monitors only, and is wanted most when the
    /// OSDs hang: then all workers of the cluster may be stuck, and a fence
    /// must not wait for one of them.
    kFence,
    /// What works on this node's mounts. All clusters share it, because it is
    /// the node's disks and CPUs that are spared.
    kNode,
  };

  static WorkerShare OfCluster(ClusterId id) {
    return {Kind::kCluster, std::move(id)};
  }
  static WorkerShare OfFence(ClusterId id) {
    return {Kind::kFence, std::move(id)};
  }
  static WorkerShare OfNode() { return {Kind::kNode, ClusterId()}; }

  Kind kind = Kind::kCluster;
  /// Empty for the node, and for what concerns no cluster in particular.
  ClusterId cluster_id{};

  friend bool operator==(const WorkerShare&, const WorkerShare&) = default;
  friend auto operator<=>(const WorkerShare&, const WorkerShare&) = default;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_WORKER_SHARE_H_
