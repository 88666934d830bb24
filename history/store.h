#ifndef ADDONS_HISTORY_STORE_H_
#define ADDONS_HISTORY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ceph/cluster.h"
#include "ceph/pool.h"
#include "history/event.h"

namespace addons {

/// The object that holds the history of a pool and namespace, an event in each
/// entry of its omap, the oldest first.
inline constexpr char kHistoryObject[] = "rbd_addons.history";

/// As HistoryPlace::pool_id: of an event that is about a whole cluster, which
/// is written to each pool that PoolsOfHistory() finds.
inline constexpr int64_t kEveryPool = -1;

/// The pools of the cluster that have a history in this namespace, or volumes
/// of ceph-csi's `instance_id`, by id. What the user may not read is left out.
/// Blocks for a command to the monitors and two reads of each pool.
absl::StatusOr<std::vector<int64_t>> PoolsOfHistory(
    Cluster& cluster, const std::string& rados_namespace,
    const std::string& instance_id);

/// The key of an event that happened at `time`: later ones come after it.
/// `writer` and `number` keep apart what happened at the same time.
std::string HistoryKey(absl::Time time, const std::string& writer,
                       uint64_t number);

/// Writes events by key, all or none, and makes the object where there is none.
/// Entries with these keys are replaced. Needs a mutation pool; blocks for
/// three changes at most.
absl::Status WriteHistory(Pool& pool, const OmapValues& events);

/// Removes the oldest events beyond `most`. Needs a mutation pool. Reads them
/// all, so it is for once in a while; OK also when others do the same.
absl::Status TrimHistory(Pool& pool, size_t most);

struct HistoryQuery {
  std::set<std::string> objects;  // ids; empty: all
  absl::Time since = absl::InfinitePast();
  size_t most = 100;  // the newest of them
  /// With `objects`: also all that is about this uuid. A volume or group is
  /// called by the id of the site that made it, or of the one that it is on.
  std::string uuid{};
};

struct HistoryFound {
  std::vector<HistoryEvent> events;  // the oldest first
  bool more = false;                 // there are older ones in that time
  size_t unreadable = 0;             // entries that are no events
};

/// Blocks for a read for each 500 events since then. Nothing is found where
/// nothing was ever written.
absl::StatusOr<HistoryFound> ReadHistory(Pool& pool, const HistoryQuery& query);

}  // namespace addons

#endif  // ADDONS_HISTORY_STORE_H_
