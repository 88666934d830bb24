#include "networkfence/fence_rounds.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/barrier.h"
#include "networkfence/find_services.h"

namespace addons {
namespace {

/// Those of `pools` that are not in `reached`, with as many placement groups.
std::vector<RbdPool> NotIn(const std::vector<RbdPool>& reached,
                           const std::vector<RbdPool>& pools) {
  std::vector<RbdPool> others;
  std::copy_if(pools.begin(), pools.end(), std::back_inserter(others),
               [&](const RbdPool& pool) {
                 return std::none_of(
                     reached.begin(), reached.end(), [&](const RbdPool& one) {
                       return one.id == pool.id &&
                              one.placement_groups == pool.placement_groups;
                     });
               });
  return others;
}

}  // namespace

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

absl::StatusOr<ServicesFound> FenceRounds::Monitors(OfCluster& rounds,
                                                    Cluster& cluster,
                                                    SteadyTime now) {
  {
    MutexLock lock(rounds.mutex);
    if (rounds.monitors_asked.has_value() &&
        now - *rounds.monitors_asked < kMonitorsCount) {
      return rounds.monitors;
    }
  }
  ADDONS_ASSIGN_OR_RETURN(ServicesFound found, FindMonitors(cluster));
  if (!found.unknown.empty()) return found;
  MutexLock lock(rounds.mutex);
  rounds.monitors = found;
  rounds.monitors_asked = now;
  return found;
}

absl::StatusOr<FenceRounds::Services> FenceRounds::LookForServices(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    SteadyTime now, std::chrono::milliseconds patience) {
  const std::shared_ptr<OfCluster> rounds = Of(cluster);
  return rounds->services.Get([&]() -> absl::StatusOr<Services> {
    ADDONS_ASSIGN_OR_RETURN(const auto map, Map(cluster));
    ADDONS_ASSIGN_OR_RETURN(ServicesFound monitors,
                            Monitors(*rounds, *cluster, now));
    return std::make_shared<const ServicesFound>(
        FindServices(threads, cluster, *map, std::move(monitors), patience));
  });
}

FenceRounds::Silent FenceRounds::Spread(BoundedThreads& threads,
                                        const std::shared_ptr<Cluster>& cluster,
                                        std::chrono::milliseconds patience) {
  return Of(cluster)->spreads.Get([&]() -> Silent {
    ADDONS_ASSIGN_OR_RETURN(const auto map, Map(cluster));
    ADDONS_RETURN_IF_ERROR(cluster->WaitForLatestMap());
    return ReachAllPrimaries(threads, cluster, map->pools, patience);
  });
}

absl::StatusOr<FenceRounds::AfterChange> FenceRounds::ReadBack(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    std::chrono::milliseconds patience) {
  return Of(cluster)->read_backs.Get([&]() -> absl::StatusOr<AfterChange> {
    ADDONS_ASSIGN_OR_RETURN(const auto before, Map(cluster));
    using LookTask = std::packaged_task<absl::StatusOr<View>()>;
    const auto look = std::make_shared<LookTask>(
        [this, &cluster] { return this->Look(cluster); });
    std::future<absl::StatusOr<View>> looked = look->get_future();
    if (!threads.Run(absl::StrCat("look ", cluster->fsid()),
                     [look] { (*look)(); })) {
      (*look)();
    }
    // It ends before what it refers to, also where the barrier throws.
    const absl::Cleanup wait = [&looked] {
      if (looked.valid()) looked.wait();
    };
    AfterChange after;
    const absl::Status newest = cluster->WaitForLatestMap();
    if (newest.ok()) {
      after.silent =
          ReachAllPrimaries(threads, cluster, before->pools, patience);
    } else {
      after.silent = newest;
    }
    ADDONS_ASSIGN_OR_RETURN(after.view, looked.get());
    const std::vector<RbdPool> others =
        NotIn(before->pools, after.view->map.pools);
    if (!others.empty() && after.silent.ok()) {
      for (std::string& part :
           ReachAllPrimaries(threads, cluster, others, patience)) {
        after.silent->push_back(std::move(part));
      }
    }
    return after;
  });
}

}  // namespace addons
