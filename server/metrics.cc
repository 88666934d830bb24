#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <initializer_list>
#include <limits>
#include <utility>

#include "base/log.h"
#include "operation/lane_use.h"

namespace addons {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Label = ClientMetric::Label;
using Seconds = std::chrono::duration<double>;

MetricFamily Family(MetricType type, std::string name, std::string help) {
  MetricFamily family;
  family.name = "rbd_addons_" + std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

MetricFamily Counter(std::string name, std::string help) {
  return Family(MetricType::Counter, std::move(name), std::move(help));
}

MetricFamily Gauge(std::string name, std::string help) {
  return Family(MetricType::Gauge, std::move(name), std::move(help));
}

template <typename Value>
void Add(MetricFamily& family, std::vector<Label> labels, Value value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = static_cast<double>(value);
  } else {
    metric.gauge.value = static_cast<double>(value);
  }
  family.metric.push_back(std::move(metric));
}

template <typename Value>
MetricFamily With(MetricFamily family, Value value) {
  Add(family, {}, value);
  return family;
}

using Families = std::vector<MetricFamily>;

void AddCalls(const CallStats& stats, Families& families) {
  MetricFamily calls =
      Counter("calls_total", "Calls that were answered, by method and code.");
  MetricFamily seconds =
      Counter("call_seconds_total",
              "Time that calls took until their answer, by method and code.");
  for (const CallCount& count : stats.Counts()) {
    const std::vector<Label> labels = {
        {"method", count.method},
        {"code", absl::StatusCodeToString(count.code)}};
    Add(calls, labels, count.calls);
    Add(seconds, labels, Seconds(count.total).count());
  }
  families.push_back(std::move(calls));
  families.push_back(std::move(seconds));
  families.push_back(
      With(Gauge("calls_in_flight", "Calls that wait for their answer now."),
           stats.in_flight()));
}

void AddOperationCounters(const OperationStats& stats, Families& families) {
  const auto add = [&families](std::string name, std::string help,
                               uint64_t value) {
    families.push_back(With(Counter(std::move(name), std::move(help)), value));
  };
  add("operations_started_total", "Operations given to a worker.",
      stats.started);
  add("operations_finished_total", "Operations whose work has returned.",
      stats.finished);
  add("operations_superseded_total",
      "Operations that were ended for another verb.", stats.superseded);
  add("operations_cancelled_total",
      "Operations that an administrator cancelled.", stats.cancelled);
  add("calls_joined_total", "Calls that joined an operation under way.",
      stats.joined);
  add("calls_kept_result_total",
      "Calls answered with the kept result of an operation.", stats.kept);
  add("calls_conflict_total",
      "Calls that gave up waiting for another operation on the same object.",
      stats.conflicts);
  add("calls_refused_total",
      "Calls refused: a full lane, too many that wait, or the daemon stops.",
      stats.refused);
  families.push_back(
      With(Gauge("calls_waiting", "Calls that wait for an operation now."),
           stats.waiting));
  families.push_back(
      With(Gauge("operation_threads",
                 "Threads of operations now; idle ones end after a minute."),
           stats.threads));
}

void AddLanes(const OperationTable& table, Families& families) {
  MetricFamily operations =
      Gauge("operations", "Operations now, by lane and state.");
  MetricFamily oldest =
      Gauge("operation_oldest_seconds",
            "Age of the oldest operation of the lane, 0 when it is empty.");
  MetricFamily workers = Gauge(
      "lane_workers", "How many operations of the lane may run at a time.");
  MetricFamily queue_limit =
      Gauge("lane_queue_limit", "How many operations of the lane may wait.");
  for (const LaneUse& use : UseOfLanes(table.limits(), table.List())) {
    const Label lane = {"lane", std::string(Name(use.lane))};
    Add(operations, {lane, {"state", "running"}}, use.running);
    Add(operations, {lane, {"state", "waiting"}}, use.waiting);
    Add(operations, {lane, {"state", "queued"}}, use.queued);
    Add(oldest, {lane}, Seconds(use.oldest).count());
    Add(workers, {lane}, use.limits.workers);
    Add(queue_limit, {lane}, use.limits.queued);
  }
  for (MetricFamily* family : {&operations, &oldest, &workers, &queue_limit}) {
    families.push_back(std::move(*family));
  }
}

ClientMetric HistogramOf(const CallHistogram& call) {
  ClientMetric metric;
  metric.label = {{"call", call.call}};
  metric.histogram.sample_count = call.count;
  metric.histogram.sample_sum = call.sum.count();
  uint64_t cumulative = 0;
  for (size_t i = 0; i < call.buckets.size(); ++i) {
    cumulative += call.buckets.at(i);
    metric.histogram.bucket.push_back(
        {cumulative, i < CallHistogram::kBounds.size()
                         ? CallHistogram::kBounds.at(i)
                         : std::numeric_limits<double>::infinity()});
  }
  return metric;
}

void AddCephCalls(const std::vector<CallHistogram>& calls, Families& families) {
  MetricFamily durations =
      Family(MetricType::Histogram, "ceph_call_duration_seconds",
             "How long calls to librados and librbd took, by function.");
  MetricFamily failures = Counter(
      "ceph_call_failures_total",
      "Calls to librados and librbd with a negative result, by function; "
      "finding that something does not exist is one.");
  for (const CallHistogram& call : calls) {
    durations.metric.push_back(HistogramOf(call));
    Add(failures, {{"call", call.call}}, call.failures);
  }
  families.push_back(std::move(durations));
  families.push_back(std::move(failures));
}

/// All outcomes, also those that have not come up yet.
template <typename Outcome, size_t kOutcomes>
MetricFamily ByOutcome(MetricFamily family,
                       const OutcomeCounts<Outcome, kOutcomes>& counts) {
  for (size_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    Add(family, {{"outcome", std::string(Name(outcome))}},
        counts.count(outcome));
  }
  return family;
}

void AddReclaims(const ReclaimStats& stats, Families& families) {
  families.push_back(ByOutcome(
      Counter("reclaims_total", "Sparsifications that have ended, by outcome."),
      stats));
  families.push_back(
      With(Counter("reclaim_examined_bytes_total",
                   "Bytes of images that sparsifications looked at for zeros."),
           stats.examined_bytes()));
}

void AddTrims(const TrimStats& stats, Families& families) {
  families.push_back(ByOutcome(
      Counter("trims_total", "Trims that have ended, by outcome."), stats));
  families.push_back(
      With(Counter("trimmed_bytes_total",
                   "Bytes that filesystems discarded, by their own count."),
           stats.trimmed_bytes()));
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(const MetricsSources& sources) {
  Families families;
  MetricFamily build = Gauge("build_info", "The daemon's version; always 1.");
  Add(build, {{"version", ADDONS_VERSION}}, 1);
  families.push_back(std::move(build));
  families.push_back(
      With(Counter("log_lines_dropped_total",
                   "Lines of the log that were lost because nobody read them "
                   "in time."),
           LogLinesDropped()));
  AddCalls(sources.calls, families);
  AddOperationCounters(sources.operations.stats(), families);
  AddLanes(sources.operations, families);
  if (sources.ceph_calls) AddCephCalls(sources.ceph_calls(), families);
  if (sources.reclaims != nullptr) AddReclaims(*sources.reclaims, families);
  if (sources.trims != nullptr) AddTrims(*sources.trims, families);
  if (sources.copying_stops) {
    families.push_back(
        With(Counter("copying_stops_total",
                     "Times that rbd-mirror of a pool was blocklisted so that "
                     "nothing was copied during forced promotions."),
             sources.copying_stops()));
  }
  if (sources.history) {
    const HistoryStats history = sources.history();
    families.push_back(
        With(Counter("history_events_written_total",
                     "Events of the history that were written to pools."),
             history.written));
    families.push_back(With(
        Counter("history_events_dropped_total",
                "Events of the history that were lost because they could not "
                "be written for too long, or too many waited."),
        history.dropped));
  }
  return families;
}

std::string MetricsText(const MetricsSources& sources) {
  return prometheus::TextSerializer().Serialize(CollectMetrics(sources));
}

}  // namespace addons
