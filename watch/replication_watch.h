#ifndef ADDONS_WATCH_REPLICATION_WATCH_H_
#define ADDONS_WATCH_REPLICATION_WATCH_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/periodic.h"
#include "ceph/cluster.h"
#include "operation/operation_table.h"
#include "replication/environment.h"
#include "replication/look/watched.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Looks at the replication of the pools that calls have named, or OwnWatch has
/// found, and at the fences of their clusters and of those whose fences calls
/// were about, also when no call asks, and publishes what it sees.
///
/// A look is an operation of the read lane, one for each cluster at a time: a
/// cluster that hangs keeps one worker, and delays the looks at no other. When
/// a look fails, what was seen before stays, with its age and the reason. A
/// user that the cluster refuses is not used again; the pool is looked at again
/// when a call brings another one. Nothing is logged: what cannot be seen
/// stands in the snapshot. Thread-safe.
class ReplicationWatch {
 public:
  /// Starts looks every `interval`, and soon after calls have changed something
  /// (WatchedPools::ChangesDue()); zero: only StartLooks() does. Nothing is
  /// owned, and all of it outlives this, all but `operations` also the
  /// operations of the table.
  ReplicationWatch(OperationTable& operations,
                   ReplicationEnvironment& environment, WatchedClusters& named,
                   ClusterProvider& clusters,
                   std::chrono::milliseconds interval);
  /// Asks the looks that run to end, and waits for none.
  ~ReplicationWatch();
  ReplicationWatch(const ReplicationWatch&) = delete;
  ReplicationWatch& operator=(const ReplicationWatch&) = delete;

  /// One look at each cluster where none runs. Does not block.
  void StartLooks();
  /// The same of clusters where calls have changed something.
  void StartLooksAtChanges();
  /// Whether one runs, or its end is not noted yet. Does not block.
  bool looking() const;

  /// Gives what was seen last; never null. Does not block; may be called when
  /// the watch is gone.
  using Source = std::function<std::shared_ptr<const WatchSnapshot>()>;
  Source snapshots() const;

 private:
  class State;
  void StartLooksAt(const std::set<std::string>* only);

  OperationTable& operations_;
  const std::shared_ptr<State> state_;  // shared with looks that run
  std::optional<Periodic> rounds_;      // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_WATCH_REPLICATION_WATCH_H_
