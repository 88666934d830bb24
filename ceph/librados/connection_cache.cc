#include "ceph/librados/connection_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ceph/librados/rados_cluster.h"

namespace addons {
namespace {

std::string CacheKey(const ClusterTarget& target, const CephUser& user) {
  std::vector<std::string> monitors = target.monitors;
  std::sort(monitors.begin(), monitors.end());
  return absl::StrCat(absl::StrJoin(monitors, ","), "\n", user.id, "\n",
                      user.key.Fingerprint());
}

}  // namespace

ConnectionCache::ConnectionCache(ConnectionCacheOptions options, Clock& clock,
                                 std::shared_ptr<CallGate> gate)
    : ConnectionCache(
          options, clock,
          [environment = ClientEnvironment{std::move(gate),
                                           std::make_shared<HostResolver>(),
                                           std::make_shared<AbandonableCalls>(),
                                           options.timeouts}](
              const ClusterTarget& target, const CephUserRef& user) {
            return RadosCluster::Connect(environment, target, user);
          }) {}

ConnectionCache::ConnectionCache(ConnectionCacheOptions options, Clock& clock,
                                 ConnectFn connect)
    : options_(options),
      clock_(clock),
      connect_(std::move(connect)),
      sweeper_("conn-sweeper", options.sweep_interval, [this] { Sweep(); }) {}

absl::StatusOr<std::shared_ptr<Cluster>> ConnectionCache::Connect(
    const ClusterTarget& target, const CephUserRef& user) {
  const std::string key = CacheKey(target, *user);
  std::shared_ptr<Entry> entry;
  std::vector<std::shared_ptr<Entry>> idle;  // closed after the lock
  {
    MutexLock lock(mutex_);
    std::shared_ptr<Entry>& found = entries_[key];
    if (found == nullptr) found = std::make_shared<Entry>();
    entry = found;  // from here on it is in use, so the sweep leaves it
    entry->last_used = clock_.Now();
    idle = TakeIdle();
  }
  idle.clear();
  // Two connects in a row (the one to wait for, and its look-up of names).
  const SteadyTime until = std::chrono::steady_clock::now() +
                           2 * options_.timeouts.connect +
                           options_.timeouts.mon;
  ADDONS_ASSIGN_OR_RETURN(
      std::shared_ptr<CachedCluster> cluster,
      entry->slot.Get([](const CachedCluster& held) { return !held.denied(); },
                      [&] { return connect_(target, user); }, until));
  return cluster;
}

std::vector<std::shared_ptr<ConnectionCache::Entry>>
ConnectionCache::TakeIdle() {
  std::vector<std::shared_ptr<Entry>> idle;
  const SteadyTime now = clock_.Now();
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = *it->second;
    // Only Connect(), under this lock, can take an entry that nobody holds.
    const bool in_use = it->second.use_count() > 1 || !entry.slot.Idle();
    if (in_use) entry.last_used = now;
    if (!in_use && (entry.slot.Peek() == nullptr ||
                    now - entry.last_used >= options_.idle)) {
      idle.push_back(std::move(it->second));
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
  return idle;
}

void ConnectionCache::Sweep() {
  std::vector<std::shared_ptr<Entry>> idle;
  {
    MutexLock lock(mutex_);
    idle = TakeIdle();
  }
  idle.clear();
}

}  // namespace addons
