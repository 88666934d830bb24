#include "watch/mirror_restart_watch.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/look/evictions.h"
#include "replication/look/mirror_view.h"
#include "replication/look/report.h"
#include "replication/steps/ceph_faults/interrupted_copies.h"
#include "watch/watch_connection.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kSilence{30};
/// rbd-mirror is back 20 to 70 s after it was sent away.
constexpr std::chrono::minutes kReturn{2};
/// Until a forced promotion that has just sent it away has set the copies back.
/// Doing so twice costs time only.
constexpr std::chrono::seconds kSetBackTakes{10};

/// The rbd-mirror that a forced promotion sent away has not reported since: the
/// daemon may have died before it set the copies back.
absl::StatusOr<bool> MayBeHalfEvicted(Cluster& cluster, Pool& pool) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> whole,
                          OpenDefaultNamespace(cluster, pool, Access::kRead));
  const PoolAndDefault places{pool, whole.get()};
  // The listing is long, and there is hardly ever a note.
  if (!HasEvictionNote(places)) return false;
  ADDONS_ASSIGN_OR_RETURN(const std::vector<ImageStatuses> statuses,
                          pool.MirrorStatuses());
  return SilentSinceEviction(places, NewestLocalReport(statuses)).has_value();
}

/// A forced promotion of this daemon has not set back what it interrupted.
bool LeftUndone(const Eviction& stop) {
  return !stop.clients.empty() && *stop.rewind != Rewind::kDone;
}

/// Whether all clients that went have gone because `stop` put them on the
/// blocklist, and its promotion has set the copies back; nullopt: it may be
/// about to.
std::optional<bool> SetBackByPromotion(const Eviction& stop,
                                       SteadyDuration since,
                                       const std::set<uint64_t>& before,
                                       const std::set<uint64_t>& now) {
  const bool by_us =
      !stop.clients.empty() &&
      std::all_of(before.begin(), before.end(), [&](uint64_t client) {
        return now.contains(client) || stop.clients.contains(client);
      });
  if (!by_us) return false;
  const bool nobody_is_back = std::includes(
      stop.clients.begin(), stop.clients.end(), now.begin(), now.end());
  switch (*stop.rewind) {
    case Rewind::kDone:
      return since < kReturn;
    case Rewind::kUnderWay:
      if (since < kSetBackTakes && nobody_is_back) return std::nullopt;
      return false;
    case Rewind::kFailed:
      break;
  }
  return false;
}

}  // namespace

MirrorRestartWatch::MirrorRestartWatch(ReplicationEnvironment& environment,
                                       ClusterProvider& clusters,
                                       std::chrono::milliseconds interval)
    : environment_(environment), clusters_(clusters) {
  if (interval.count() > 0) {
    looks_.emplace("mirror-restarts", interval, [this] { LookAtAll(); });
  }
}

MirrorRestartWatch::~MirrorRestartWatch() {
  stop_.request_stop();
  looks_.reset();
}

void MirrorRestartWatch::LookAtAll() {
  const std::vector<WatchedPools::Watched> all = environment_.watched.All();
  std::map<WatchedPools::Key, Seen> known;
  for (const WatchedPools::Watched& watched : all) {
    if (const auto seen = seen_.find(watched.key); seen != seen_.end()) {
      known.insert(*seen);
    }
  }
  seen_ = std::move(known);
  const SteadyTime now = environment_.clock.Now();
  std::erase_if(silent_until_,
                [&](const auto& cluster) { return cluster.second <= now; });
  for (const WatchedPools::Watched& watched : all) {
    if (stop_.stop_requested()) return;
    const std::string& cluster_id = std::get<0>(watched.key);
    if (watched.user == nullptr || silent_until_.contains(cluster_id)) continue;
    const absl::Status looked =
        RetryWhenBlocklisted([&] { return LookAt(watched); });
    if (RefusesUser(looked)) {
      environment_.watched.Refuse(watched.key, watched.user);
    }
    // Anything else is about this pool only.
    if (absl::IsUnavailable(looked) || absl::IsDeadlineExceeded(looked)) {
      silent_until_[cluster_id] = environment_.clock.Now() + kSilence;
    }
  }
}

absl::Status MirrorRestartWatch::LookAt(const WatchedPools::Watched& watched) {
  const auto& [cluster_id, pool_id, rados_namespace] = watched.key;
  ADDONS_ASSIGN_OR_RETURN(
      const std::shared_ptr<Cluster> cluster,
      ConnectToWatch(environment_.config, clusters_, cluster_id, watched.user));
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      cluster->OpenPool(pool_id, rados_namespace, Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> watchers,
                          ListMirrorClients(*pool));
  std::set<uint64_t> clients;
  for (const Watcher& watcher : watchers) clients.insert(watcher.client_id);
  const bool first = !seen_.contains(watched.key);
  bool half = false;
  if (first) {
    // Where this fails, the next look is the first one.
    ADDONS_ASSIGN_OR_RETURN(half, MayBeHalfEvicted(*cluster, *pool));
    seen_.emplace(watched.key, Seen{clients});
  }
  Seen& seen = seen_.at(watched.key);
  const bool nobody_came = std::includes(
      seen.clients.begin(), seen.clients.end(), clients.begin(), clients.end());
  const bool failed = seen.rewind != nullptr && *seen.rewind == Rewind::kFailed;
  const bool again = failed && seen.in_time && nobody_came;
  if (!first && !seen.undecided && !again && seen.clients == clients) {
    return absl::OkStatus();
  }
  const Eviction stop = environment_.evictions.LastOfAllNamespaces(
      WholePoolKey(cluster->fsid(), pool_id));
  if (first && !half && !LeftUndone(stop)) return absl::OkStatus();
  // What has failed here came after what a promotion has done.
  const std::optional<bool> done =
      failed ? false
             : SetBackByPromotion(
                   stop, environment_.clock.Now() - stop.known_to_osds_since,
                   seen.clients, clients);
  if (!done.has_value()) {
    // Who was there before is needed once more.
    seen.undecided = true;
    return absl::OkStatus();
  }
  seen = Seen{clients};
  seen.in_time = nobody_came;
  if (*done) return absl::OkStatus();
  SetBackAside(cluster, watched, stop, again, &seen);
  return absl::OkStatus();
}

void MirrorRestartWatch::SetBackAside(const std::shared_ptr<Cluster>& cluster,
                                      const WatchedPools::Watched& watched,
                                      const Eviction& stop, bool again,
                                      Seen* seen) {
  const auto own = std::make_shared<std::atomic<Rewind>>(Rewind::kUnderWay);
  seen->rewind = own;
  environment_.aside(
      cluster->fsid(),
      [cluster, own, by_promotion = stop.rewind, again, in_time = seen->in_time,
       pool_id = std::get<1>(watched.key),
       rados_namespace = std::get<2>(watched.key),
       at_once = environment_.options.group_members_at_once,
       name = watched.pool_name] {
        const auto copies = RewindInterruptedCopies(*cluster, pool_id,
                                                    rados_namespace, at_once);
        if (!copies.ok()) {
          *own = Rewind::kFailed;
          if (again) return;
          const auto* const text =
              in_time
                  ? "rbd-mirror has gone, and what it was copying is not set "
                    "back by one object, which it leaves out when it goes on; "
                    "this is tried again until an rbd-mirror comes"
                  : "rbd-mirror was restarted or has lost its connection, and "
                    "copies that this interrupted may lack one object: resync "
                    "them";
          Log().warn("{} pool={}: {}", text, Quoted(name),
                     Quoted(copies.status().message()));
          return;
        }
        *own = Rewind::kDone;
        // Whoever else goes that the promotion sent away has copied nothing.
        *by_promotion = Rewind::kDone;
        if (again || *copies > 0) {
          Log().warn(
              "rbd-mirror was restarted or has lost its connection in the "
              "middle of copies; they are set back by one object, because it "
              "leaves one out when it goes on pool={} images={}",
              Quoted(name), *copies);
        }
      });
}

}  // namespace addons
