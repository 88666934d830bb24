#ifndef ADDONS_VOLUME_MIRRORED_POOLS_H_
#define ADDONS_VOLUME_MIRRORED_POOLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "volume/cluster_config.h"
#include "volume/resolved.h"

namespace addons {

/// Where images may be mirrored.
struct MirroredPools {
  std::vector<ResolvedPlace> places;  // pools and namespaces
  /// Clusters and pools that could not be looked at, and why.
  std::vector<std::string> unseen;
  /// Whether one of them may answer the same user later: it is no matter of
  /// capabilities.
  bool may_pass = false;
};

/// All pools and namespaces with mirroring on the clusters of `entries`. Pools
/// of Ceph's own (".mgr") are left out. Connects to one cluster after the
/// other, and blocks for two reads of each pool. Of a user who may only use the
/// namespace that an entry has, that namespace. The first error when nothing
/// could be looked at at all.
absl::StatusOr<MirroredPools> FindMirroredPools(
    ClusterProvider& clusters, const std::vector<const ClusterEntry*>& entries,
    const CephUserRef& user);

}  // namespace addons

#endif  // ADDONS_VOLUME_MIRRORED_POOLS_H_
