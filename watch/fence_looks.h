#ifndef ADDONS_WATCH_FENCE_LOOKS_H_
#define ADDONS_WATCH_FENCE_LOOKS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "ceph/cluster.h"
#include "replication/look/watched.h"
#include "volume/config_store.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// The part of the background watch that looks at what clusters have fenced:
/// one `osd blocklist ls` for each look at a cluster. Thread-safe.
class FenceLooks {
 public:
  /// Nothing is owned, and all of it outlives this.
  FenceLooks(WatchedClusters& watched, ConfigStore& config,
             ClusterProvider& clusters, Clock& clock)
      : watched_(watched),
        config_(config),
        clusters_(clusters),
        clock_(clock) {}

  /// From here on these are the clusters that are looked at: those of calls
  /// about fences, and `others`, with their users; nullptr: nobody is left that
  /// the cluster accepts. Returns those with a user.
  std::set<std::string> Watch(const std::map<std::string, CephUserRef>& others);
  /// One look at a cluster. Blocks as Cluster::MonCommand(). Keeps what was
  /// seen before where it fails.
  void Look(const std::string& cluster_id);
  /// A look that began at `began` has not come as far as Look(), or did not
  /// come back.
  void Missed(const std::string& cluster_id, SteadyTime began,
              const absl::Status& status);
  /// By cluster.
  std::vector<WatchedFences> Seen() const;

 private:
  struct Entry {
    CephUserRef user;
    bool of_fences = false;  // a call about fences brought the user
    WatchedFences seen;
    std::optional<SteadyTime> tried_at;
  };

  absl::Status Read(const std::string& cluster_id, const CephUserRef& user,
                    WatchedFences* seen);

  WatchedClusters& watched_;
  ConfigStore& config_;
  ClusterProvider& clusters_;
  Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_WATCH_FENCE_LOOKS_H_
