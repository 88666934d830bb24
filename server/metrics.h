#ifndef ADDONS_SERVER_METRICS_H_
#define ADDONS_SERVER_METRICS_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ceph/librados/call_gate.h"
#include "history/event_log.h"
#include "operation/operation_table.h"
#include "points/point_rounds.h"
#include "reclaimspace/reclaim_stats.h"
#include "reclaimspace/trim_stats.h"
#include "replication/look/role_log.h"
#include "rpc/call_stats.h"
#include "server/unix_listener.h"
#include "watch/watch_snapshot.h"

namespace addons {

/// Connections of one socket.
struct SocketConnections {
  std::string socket;  // "callers", "administrators"
  ConnectionCounts counts;
};

/// Where metrics come from. Nothing is owned, and all of it is thread-safe.
struct MetricsSources {
  const CallStats& calls;
  const OperationTable& operations;
  /// CallGate::Snapshot(); empty: there is no gate.
  std::function<std::vector<CallHistogram>()> ceph_calls;
  const ReclaimStats* reclaims = nullptr;  // null: not served
  const TrimStats* trims = nullptr;        // null: not served
  /// How often rbd-mirror was blocklisted for forced promotions; empty: not
  /// served.
  std::function<uint64_t()> evictions;
  /// Of the history of what happens to volumes; empty: not served.
  std::function<HistoryStats()> history{};
  /// What the background watch has seen; empty: it is off.
  std::function<std::shared_ptr<const WatchSnapshot>()> watch{};
  Clock* clock = &RealClock();  // of the watch
  std::string librados{};       // the linked release; empty: none is linked
  /// What came of the plans of points; empty: not served.
  std::function<PlannedPointCounts()> planned_points{};
  /// Of each socket; empty: there is none.
  std::function<std::vector<SocketConnections>()> connections{};
  const RoleChangeCounts* role_changes = nullptr;  // null: not served
};

/// All metrics, as docs/metrics.md lists them: what the daemon counts anyway,
/// read now. Waits for short mutexes only and never asks Ceph. Values of labels
/// come from the program: methods, codes, lanes, outcomes and names of
/// functions; those of replication also from what calls and Ceph have named, in
/// bounded number: clusters, pools, namespaces, images and volumes.
std::vector<prometheus::MetricFamily> CollectMetrics(
    const MetricsSources& sources);

/// The same in Prometheus' text format.
std::string MetricsText(const MetricsSources& sources);

}  // namespace addons

#endif  // ADDONS_SERVER_METRICS_H_
