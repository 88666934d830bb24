#ifndef ADDONS_WATCH_OWN_WATCH_H_
#define ADDONS_WATCH_OWN_WATCH_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/cluster_id.h"
#include "base/periodic.h"
#include "ceph/cluster.h"
#include "replication/environment.h"

namespace addons {

/// Finds the mirrored pools of this site with a Ceph user of the daemon's own,
/// which only reads, so that they are watched although no call has named a
/// volume: after a restart, and on a standby that nobody calls. The user's file
/// is read again for each search, so that a new key counts without a restart.
/// What goes wrong is logged once until it changes.
class OwnWatch {
 public:
  /// How often what is mirrored is looked for again, and after a failure.
  static constexpr std::chrono::minutes kAgain{5};
  static constexpr std::chrono::seconds kRetry{10};

  struct Sources {
    std::string user_file;        // as ReadUserFile() takes it
    std::vector<ClusterId> home;  // the clusters of this site; empty: all
  };

  /// Searches by itself every `interval` where one is due; zero: only Round()
  /// does. `found` is called when a search has brought pools that were not
  /// watched. Nothing is owned; all of it outlives this.
  OwnWatch(ReplicationEnvironment& environment, ClusterProvider& clusters,
           Sources sources, std::function<void()> found,
           std::chrono::milliseconds interval);

  /// A search, if one is due. Blocks for one cluster after the other. For one
  /// thread at a time.
  void Round();

 private:
  absl::Status Search();

  ReplicationEnvironment& environment_;
  ClusterProvider& clusters_;
  const Sources sources_;
  const std::function<void()> found_;
  CephUserRef user_;
  std::optional<SteadyTime> due_at_;  // nullopt: at once
  std::string told_;                  // what was logged last
  std::optional<Periodic> rounds_;    // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_WATCH_OWN_WATCH_H_
