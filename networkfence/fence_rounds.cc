#include "networkfence/fence_rounds.h"

#include <utility>

#include "base/status_macros.h"
#include "ceph/barrier.h"
#include "networkfence/find_services.h"

namespace addons {

std::shared_ptr<FenceRounds::OfCluster> FenceRounds::Of(
    const std::shared_ptr<Cluster>& cluster) {
  MutexLock lock(mutex_);
  std::erase_if(clusters_, [](const auto& entry) {
    return entry.second.cluster.expired();
  });
  Entry& entry = clusters_[cluster.get()];
  if (entry.rounds == nullptr) {
    entry = {cluster, std::make_shared<OfCluster>()};
  }
  return entry.rounds;
}

absl::StatusOr<FenceRounds::View> FenceRounds::Look(
    const std::shared_ptr<Cluster>& cluster) {
  const std::shared_ptr<OfCluster> rounds = Of(cluster);
  return rounds->looks.Get([&]() -> absl::StatusOr<View> {
    ADDONS_ASSIGN_OR_RETURN(FenceView read, ReadFenceView(*cluster));
    auto view = std::make_shared<const FenceView>(std::move(read));
    auto map = std::make_shared<const OsdMapView>(view->map);
    MutexLock lock(rounds->mutex);
    rounds->map = std::move(map);
    return view;
  });
}

absl::StatusOr<std::shared_ptr<const OsdMapView>> FenceRounds::Map(
    const std::shared_ptr<Cluster>& cluster) {
  const std::shared_ptr<OfCluster> rounds = Of(cluster);
  {
    MutexLock lock(rounds->mutex);
    if (rounds->map != nullptr) return rounds->map;
  }
  ADDONS_ASSIGN_OR_RETURN(const View view, Look(cluster));
  return std::make_shared<const OsdMapView>(view->map);
}

absl::StatusOr<FenceRounds::Services> FenceRounds::LookForServices(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    std::chrono::milliseconds patience) {
  return Of(cluster)->services.Get([&]() -> absl::StatusOr<Services> {
    ADDONS_ASSIGN_OR_RETURN(const auto map, Map(cluster));
    ADDONS_ASSIGN_OR_RETURN(ServicesFound found,
                            FindServices(threads, cluster, *map, patience));
    return std::make_shared<const ServicesFound>(std::move(found));
  });
}

absl::StatusOr<std::vector<std::string>> FenceRounds::Spread(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    std::chrono::milliseconds patience) {
  return Of(cluster)->spreads.Get(
      [&]() -> absl::StatusOr<std::vector<std::string>> {
        ADDONS_ASSIGN_OR_RETURN(const auto map, Map(cluster));
        ADDONS_RETURN_IF_ERROR(cluster->WaitForLatestMap());
        return ReachAllPrimaries(threads, cluster, map->pools, patience);
      });
}

}  // namespace addons
