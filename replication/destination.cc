#include "replication/destination.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

/// Where the configuration says a volume is, without asking a cluster.
std::pair<ClusterId, int64_t> ConfiguredPlace(const ClusterConfig& config,
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
    const ClusterId& cluster_id, int64_t pool_id, std::string* storage) {
  MutexLock lock(mutex_);
  const auto it = pool_names_.find({cluster_id, pool_id});
  if (it == pool_names_.end()) return nullptr;
  *storage = it->second;
  return storage;
}

absl::StatusOr<std::string> DestinationFinder::Compose(
    const ClusterConfig& config, VolumeId id, const std::string& source,
    const ClusterId& cluster_id, int64_t pool_id,
    const std::string* pool_name) const {
  ADDONS_ASSIGN_OR_RETURN(const ClusterEntry* entry, config.Find(cluster_id));
  if (!entry->replication_destination.has_value()) {
    const auto mapped = config.Mapped(cluster_id, pool_id);
    if (mapped.empty()) return source;
    id.cluster_id = mapped.front().first;
    id.pool_id = mapped.front().second;
    return id.ToString();
  }
  const ReplicationDestination& destination = *entry->replication_destination;
  if (destination.remote_cluster_id.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Failed to find the destination of '", source,
                     "': replicationDestination.remoteClusterID of cluster '",
                     cluster_id.text(), "' is empty in config.json"));
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
  const auto volume = environment_.resolver.Resolve(
      target.volume_id, target.user, Access::kRead, deadline);
  if (volume.ok()) {
    {
      MutexLock lock(mutex_);
      pool_names_[{volume->cluster_id, volume->pool_id}] = volume->pool_name;
    }
    return Compose(*config, *target.volume_id.id(), target.volume_id.text(),
                   volume->cluster_id, volume->pool_id, &volume->pool_name);
  }
  if (!absl::IsUnavailable(volume.status()) &&
      !absl::IsDeadlineExceeded(volume.status())) {
    return volume.status();
  }
  // The cluster is ill; the configuration may be enough all the same.
  const VolumeId& id =
      *target.volume_id.id();  // decodes, or it were INVALID_ARGUMENT
  const auto [cluster_id, pool_id] = ConfiguredPlace(*config, id);
  std::string name;
  auto composed = Compose(*config, id, target.volume_id.text(), cluster_id,
                          pool_id, RememberedPool(cluster_id, pool_id, &name));
  if (absl::IsUnavailable(composed.status())) return volume.status();
  // That the id is the same there is only known of a volume that was found.
  if (composed.ok() && target.volume_id == *composed) return volume.status();
  return composed;
}

absl::StatusOr<std::string> DestinationFinder::IdOfGroup(
    const ResolvedGroup& group) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<const ClusterConfig> config,
                          environment_.config.Current());
  return Compose(*config, *group.group_id.id(), group.group_id.text(),
                 group.cluster_id, group.pool_id, &group.pool_name);
}

}  // namespace addons
