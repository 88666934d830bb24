#ifndef ADDONS_WATCH_MIRROR_RESTART_WATCH_H_
#define ADDONS_WATCH_MIRROR_RESTART_WATCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/periodic.h"
#include "ceph/cluster.h"
#include "replication/environment.h"
#include "replication/look/evictions.h"
#include "replication/look/watched.h"

namespace addons {

/// Notices when an rbd-mirror goes or comes back in the pools that calls have
/// named: it was restarted, or has lost its connection. The copies that this
/// interrupted are set back at once, see RewindInterruptedCopies(), before it
/// goes on with them and leaves an object out. So are those of a pool whose
/// rbd-mirror was sent away for a forced promotion and has not reported since,
/// at the first look: the daemon that did so may have died in the middle. What
/// fails is tried again at each look until an rbd-mirror comes. Costs one list
/// of watchers for each pool and look. A cluster that does not answer is left
/// out for a while, so that it delays the looks at the others once; what
/// happens there meanwhile is not seen. A user that the cluster refuses is not
/// used again, as in ReplicationWatch.
class MirrorRestartWatch {
 public:
  /// rbd-mirror takes seconds from its start to its first copy.
  static constexpr std::chrono::seconds kInterval{2};

  /// Looks every `interval`; zero: only LookAtAll() does. Nothing is owned; all
  /// of it outlives this.
  MirrorRestartWatch(ReplicationEnvironment& environment,
                     ClusterProvider& clusters,
                     std::chrono::milliseconds interval);
  /// Waits for a call of Ceph that runs.
  ~MirrorRestartWatch();
  MirrorRestartWatch(const MirrorRestartWatch&) = delete;
  MirrorRestartWatch& operator=(const MirrorRestartWatch&) = delete;

  /// One look at each pool. Blocks; one thread at a time.
  void LookAtAll();

 private:
  /// The rbd-mirror clients of a pool.
  struct Seen {
    std::set<uint64_t> clients;
    /// Somebody has gone or come, and whether that is left to a forced
    /// promotion is not known yet.
    bool undecided = false;
    /// What this watch has begun to set back; null: nothing. Changed by the
    /// thread that does so.
    std::shared_ptr<std::atomic<Rewind>> rewind{};
    /// Nobody had come when it began, so that it is not too late.
    bool in_time = false;
  };
  absl::Status LookAt(const WatchedPools::Watched& watched);
  /// Sets the copies of the pool back on a thread of the cluster, and notes in
  /// `seen`, and in `stop` when it succeeds, what has become of it. `again`: it
  /// has failed before, which was logged.
  void SetBackAside(const std::shared_ptr<Cluster>& cluster,
                    const WatchedPools::Watched& watched, const Eviction& stop,
                    bool again, Seen* seen);

  ReplicationEnvironment& environment_;
  ClusterProvider& clusters_;
  // Of the thread that looks.
  std::map<WatchedPools::Key, Seen> seen_;
  std::map<std::string, SteadyTime> silent_until_;  // by cluster id
  std::stop_source stop_;
  std::optional<Periodic> looks_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_WATCH_MIRROR_RESTART_WATCH_H_
