#ifndef ADDONS_REPLICATION_INSPECTION_NAMED_POOL_H_
#define ADDONS_REPLICATION_INSPECTION_NAMED_POOL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"
#include "volume/resolved.h"

namespace addons {

/// A pool as administrators name it.
struct NamedPool {
  ClusterId cluster_id;  // empty: the only one of this site
  std::string pool;
  CephUserRef user;
};

/// "pool 'replicapool' of cluster 'site-a'".
std::string Describe(const NamedPool& named);

/// Where it is, with the namespace that config.json has for the cluster.
/// Connects, so it blocks. `home` are the clusters of this site, the only ones
/// that are asked; empty: all. FAILED_PRECONDITION: the entry is broken, or
/// another site's. INVALID_ARGUMENT: no cluster is named, and there are
/// several. NOT_FOUND: no such cluster or pool.
absl::StatusOr<ResolvedPlace> FindPool(ConfigStore& config,
                                       ClusterProvider& clusters,
                                       const std::vector<ClusterId>& home,
                                       const NamedPool& named);

}  // namespace addons

#endif  // ADDONS_REPLICATION_INSPECTION_NAMED_POOL_H_
