#include "networkfence/environment.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "history/store.h"
#include "volume/home_clusters.h"
#include "volume/resolved.h"

namespace addons {

std::string NameOf(const FenceTarget& target) {
  return absl::StrCat("cluster '", target.cluster_id.text(), "'");
}

absl::StatusOr<std::shared_ptr<Cluster>> ConnectCluster(
    FenceEnvironment& environment, const FenceTarget& target) {
  const std::vector<ClusterId>& home = environment.options.home;
  if (!IsHome(home, target.cluster_id)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cluster '", target.cluster_id.text(),
                     "' is not one of --site-clusters (",
                     absl::StrJoin(home, ", ", AppendClusterId),
                     "), and no other is asked or changed from here"));
  }
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> config,
                          environment.config.Current());
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          config->Find(target.cluster_id));
  auto cluster = environment.clusters.Connect(
      {entry->cluster_id, entry->monitors}, target.user);
  if (!cluster.ok()) return cluster;
  if (environment.asked) environment.asked(target);
  if (environment.history != nullptr) {
    // A fence is about all of a cluster's pools.
    ResolvedPlace everywhere;
    everywhere.cluster_id = target.cluster_id;
    everywhere.pool_id = kEveryPool;
    everywhere.rados_namespace = entry->rados_namespace;
    everywhere.cluster = *cluster;
    environment.history->Locate(NameOf(target), everywhere, "");
  }
  return cluster;
}

}  // namespace addons
