#include "networkfence/environment.h"

#include "base/status_macros.h"

namespace addons {

absl::StatusOr<std::shared_ptr<Cluster>> ConnectCluster(
    FenceEnvironment& environment, const FenceTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> config,
                          environment.config.Current());
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          config->Find(target.cluster_id));
  return environment.clusters.Connect({entry->cluster_id, entry->monitors},
                                      target.user);
}

}  // namespace addons
