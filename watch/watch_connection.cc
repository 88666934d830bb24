#include "watch/watch_connection.h"

#include "base/status_macros.h"

namespace addons {

absl::StatusOr<std::shared_ptr<Cluster>> ConnectToWatch(
    ConfigStore& config, ClusterProvider& clusters,
    const std::string& cluster_id, const CephUserRef& user) {
  ADDONS_ASSIGN_OR_RETURN(const auto current, config.Current());
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* const entry,
                          current->Find(ClusterId(cluster_id)));
  return clusters.Connect({entry->cluster_id, entry->monitors}, user);
}

}  // namespace addons
