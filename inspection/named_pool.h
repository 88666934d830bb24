#ifndef ADDONS_INSPECTION_NAMED_POOL_H_
#define ADDONS_INSPECTION_NAMED_POOL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "volume/config_store.h"
#include "volume/mirrored_pools.h"
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

/// INVALID_ARGUMENT that names these, of which one is to be chosen.
absl::Status SeveralClusters(const std::vector<const ClusterEntry*>& entries);

/// The entries of config.json that are meant: `cluster_id`, or where that is
/// empty all of this site (`home`; empty: all). They live as long as `config`.
/// Errors as FindPool().
absl::StatusOr<std::vector<const ClusterEntry*>> FindEntries(
    const ClusterConfig& config, const std::vector<ClusterId>& home,
    const ClusterId& cluster_id);

/// Where it is, with the namespace that config.json has for the cluster.
/// Connects, so it blocks. `home` are the clusters of this site, the only ones
/// that are asked; empty: all. FAILED_PRECONDITION: the entry is broken, or
/// another site's. INVALID_ARGUMENT: no cluster is named, and there are
/// several. NOT_FOUND: no such cluster or pool.
absl::StatusOr<ResolvedPlace> FindPool(ConfigStore& config,
                                       ClusterProvider& clusters,
                                       const std::vector<ClusterId>& home,
                                       const NamedPool& named);

/// All pools and namespaces with mirroring on the clusters of this site, or on
/// `cluster_id` if that is not empty. Blocks and fails as the one of
/// volume/mirrored_pools.h, and with the errors of FindPool().
absl::StatusOr<MirroredPools> FindMirroredPools(
    ConfigStore& config, ClusterProvider& clusters,
    const std::vector<ClusterId>& home, const ClusterId& cluster_id,
    const CephUserRef& user);

}  // namespace addons

#endif  // ADDONS_INSPECTION_NAMED_POOL_H_
