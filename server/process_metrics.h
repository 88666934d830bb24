#ifndef ADDONS_SERVER_PROCESS_METRICS_H_
#define ADDONS_SERVER_PROCESS_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

namespace addons {

/// What this process takes of the system now, from /proc and without waiting
/// for anybody, under the names that Prometheus' own client libraries use:
/// process_cpu_seconds_total, process_resident_memory_bytes,
/// process_virtual_memory_bytes, process_start_time_seconds, process_open_fds,
/// process_max_fds, process_threads. What cannot be read is left out.
std::vector<prometheus::MetricFamily> ProcessMetrics();

}  // namespace addons

#endif  // ADDONS_SERVER_PROCESS_METRICS_H_
