#include "replication/destination.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

/// Where the configuration says a volume is, without asking a cluster.
std::pair<std::string, int64_t> ConfiguredPlace(const ClusterConfig& config,
                                                const VolumeId& id) {
  if (config.Find(id.cluster_id).ok()) return {id.cluster_id, id.pool_id};
  for (const auto& [cluster_id, pool_id] :
       config.Mapped(id.cluster_id, id.pool_id)) {
    if (config.Find(cluster_id).ok()) return {cluster_id, pool_id};
  }
  return {id.cluster_id, id.pool_id};
}

}  // namespace

const std::string* DestinationFinder::RememberedPool(
    const std::string& cluster_id, int64_t pool_id, std::string* storage) {
  MutexLock lock(mutex_);
  const auto it = pool_names_.find({cluster_id, pool_id});
  if (it == pool_names_.end()) return nullptr;
  *storage = it->second;
  return storage;
}

absl::StatusOr<std::string> DestinationFinder::Compose(
    const ClusterConfig& config, const std::string& source_id,
    const std::string& cluster_id, int64_t pool_id,
    const std::string* pool_name) const {
  ADDONS_ASSIGN_OR_RETURN(VolumeId id, VolumeId::Parse(source_id));
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* entry, config.Find(cluster_id));
  if (!entry->replication_destination.has_value()) {
    const auto mapped = config.Mapped(cluster_id, pool_id);
    if (mapped.empty()) return source_id;
    id.cluster_id = mapped.front().first;
    id.pool_id = mapped.front().second;
    return id.ToString();
  }
  const ReplicationDestination& destination = *entry->replication_destination;
  if (destination.remote_cluster_id.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Failed to find the destination of '", source_id,
                     "': replicationDestination.remoteClusterID of cluster '",
                     cluster_id, "' is empty in config.json"));
  }
  id.cluster_id = destination.remote_cluster_id;
  if (!destination.remote_pool_id.empty()) {
    if (pool_name == nullptr) {
      return absl::UnavailableError(
          absl::StrCat("the name of pool ", pool_id, " is not known yet"));
    }
    const auto it = destination.remote_pool_id.find(*pool_name);
    if (it != destination.remote_pool_id.end()) id.pool_id = it->second;
  }
  return id.ToString();
}

absl::StatusOr<std::string> DestinationFinder::Find(const VolumeTarget& target,
                                                    SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> config,
                          environment_.config.Current());
  const auto volume =
      environment_.resolver.Resolve(target.volume_id, target.user, deadline);
  if (volume.ok()) {
    {
      MutexLock lock(mutex_);
      pool_names_[{volume->cluster_id, volume->pool_id}] = volume->pool_name;
    }
    return Compose(*config, target.volume_id, volume->cluster_id,
                   volume->pool_id, &volume->pool_name);
  }
  if (!absl::IsUnavailable(volume.status()) &&
      !absl::IsDeadlineExceeded(volume.status())) {
    return volume.status();
  }
  // The cluster is ill; the configuration may be enough all the same.
  ADDONS_ASSIGN_OR_RETURN(const VolumeId id, VolumeId::Parse(target.volume_id));
  const auto [cluster_id, pool_id] = ConfiguredPlace(*config, id);
  std::string name;
  auto composed = Compose(*config, target.volume_id, cluster_id, pool_id,
                          RememberedPool(cluster_id, pool_id, &name));
  if (absl::IsUnavailable(composed.status())) return volume.status();
  return composed;
}

absl::StatusOr<std::string> DestinationFinder::IdOfGroup(
    const ResolvedGroup& group) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> config,
                          environment_.config.Current());
  return Compose(*config, group.group_id, group.cluster_id, group.pool_id,
                 &group.pool_name);
}

}  // namespace addons
