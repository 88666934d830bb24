#ifndef ADDONS_NETWORKFENCE_FENCE_ROUNDS_H_
#define ADDONS_NETWORKFENCE_FENCE_ROUNDS_H_

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/shared_rounds.h"
#include "ceph/cluster.h"
#include "networkfence/fence_view.h"
#include "networkfence/services_found.h"

namespace addons {

/// What fences that work at the same time share: their looks at a cluster and
/// their barrier, each asked for after the call that gets the answer began
/// (SharedRounds). Only callers with the same connection, so with the same Ceph
/// user, share anything. Thread-safe; each call blocks as long as two of the
/// calls that it stands for.
class FenceRounds {
 public:
  using View = std::shared_ptr<const FenceView>;
  using Services = std::shared_ptr<const ServicesFound>;

  FenceRounds() = default;
  FenceRounds(const FenceRounds&) = delete;
  FenceRounds& operator=(const FenceRounds&) = delete;

  /// ReadFenceView().
  absl::StatusOr<View> Look(const std::shared_ptr<Cluster>& cluster);

  /// FindServices() with the map that Look() saw last. Of monitors and managers
  /// an answer counts for kMonitorsCount from when it was asked for; `now` is
  /// the present.
  absl::StatusOr<Services> LookForServices(
      BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
      SteadyTime now, std::chrono::milliseconds patience);
  static constexpr std::chrono::seconds kMonitorsCount{5};

  /// What did not answer when the newest OSD map was taken to all OSDs:
  /// ReachAllPrimaries(). Not OK: Cluster::WaitForLatestMap().
  using Silent = absl::StatusOr<std::vector<std::string>>;

  /// Waits until this client has the newest OSD map, then takes it to the OSDs
  /// of all pools that Look() saw last.
  Silent Spread(BoundedThreads& threads,
                const std::shared_ptr<Cluster>& cluster,
                std::chrono::milliseconds patience);

  struct AfterChange {
    View view;
    Silent silent;
  };
  /// Look() and Spread() at the same time: neither rests on the other. Pools
  /// that only this look has seen are reached after it.
  absl::StatusOr<AfterChange> ReadBack(BoundedThreads& threads,
                                       const std::shared_ptr<Cluster>& cluster,
                                       std::chrono::milliseconds patience);

 private:
  struct OfCluster {
    SharedRounds<absl::StatusOr<View>> looks;
    SharedRounds<absl::StatusOr<Services>> services;
    SharedRounds<Silent> spreads;
    SharedRounds<absl::StatusOr<AfterChange>> read_backs;

    Mutex mutex;
    /// Of the newest look; null before the first.
    std::shared_ptr<const OsdMapView> map ABSL_GUARDED_BY(mutex);
    /// FindMonitors() of the newest that has found all.
    ServicesFound monitors ABSL_GUARDED_BY(mutex);
    std::optional<SteadyTime> monitors_asked ABSL_GUARDED_BY(mutex);
  };
  struct Entry {
    std::weak_ptr<Cluster> cluster;
    std::shared_ptr<OfCluster> rounds;
  };

  static absl::StatusOr<ServicesFound> Monitors(OfCluster& rounds,
                                                Cluster& cluster,
                                                SteadyTime now);
  std::shared_ptr<OfCluster> Of(const std::shared_ptr<Cluster>& cluster);
  /// What Look() saw last; looks when that was never.
  absl::StatusOr<std::shared_ptr<const OsdMapView>> Map(
      const std::shared_ptr<Cluster>& cluster);

  Mutex mutex_;
  /// By the connection, which the weak pointer tells from a later one in the
  /// same place.
  std::map<const Cluster*, Entry> clusters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FENCE_ROUNDS_H_
