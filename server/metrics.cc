#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/log.h"
#include "operation/lane_use.h"
#include "rpc/text.h"
#include "server/process_metrics.h"

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
  // Names in Ceph are bytes, and one that is no UTF-8 costs the whole scrape.
  for (Label& label : labels) MakeValid(&label.value);
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
  MetricFamily refused =
      Counter("calls_refused_total",
              "Calls refused at once, by reason: a full lane, too many that "
              "wait, no thread to be had, or the daemon stops.");
  Add(refused, {{"reason", "waiting"}}, stats.refused.waiting);
  Add(refused, {{"reason", "lane"}}, stats.refused.lane);
  Add(refused, {{"reason", "threads"}}, stats.refused.threads);
  Add(refused, {{"reason", "stopping"}}, stats.refused.stopping);
  families.push_back(std::move(refused));
  families.push_back(
      With(Gauge("calls_waiting", "Calls that wait for an operation now."),
           stats.waiting));
  families.push_back(
      With(Gauge("operation_threads",
                 "Threads of operations now; idle ones end after a minute."),
           stats.threads));
}

void AddConnections(const std::vector<SocketConnections>& sockets,
                    Families& families) {
  MetricFamily accepted =
      Counter("connections_accepted_total", "Connections, by socket.");
  MetricFamily closed = Counter(
      "connections_closed_total",
      "Connections that the daemon has closed, by socket and reason: they said "
      "nothing in time, do not speak HTTP/2, did not read their answers, or "
      "there was no memory for them.");
  MetricFamily delayed =
      Counter("connections_delayed_total",
              "How often the next connection had to wait, because too many "
              "descriptors were open, by socket.");
  for (const auto& [socket, counts] : sockets) {
    const Label of = {"socket", socket};
    Add(accepted, {of}, counts.accepted);
    Add(closed, {of, {"reason", "silent"}}, counts.silent);
    Add(closed, {of, {"reason", "foreign"}}, counts.foreign);
    Add(closed, {of, {"reason", "unread"}}, counts.unread);
    Add(closed, {of, {"reason", "dropped"}}, counts.dropped);
    Add(delayed, {of}, counts.delayed);
  }
  for (MetricFamily* family : {&accepted, &closed, &delayed}) {
    families.push_back(std::move(*family));
  }
}

void AddLanes(const OperationLimits& limits,
              const std::vector<OperationInfo>& list, Families& families) {
  MetricFamily operations =
      Gauge("operations", "Operations now, by lane and state.");
  MetricFamily oldest =
      Gauge("operation_oldest_seconds",
            "Age of the oldest operation of the lane, 0 when it is empty.");
  MetricFamily stuck =
      Gauge("operations_stuck",
            "Operations of the lane that run and have made no progress for "
            "--watchdog, or longer.");
  MetricFamily workers = Gauge(
      "lane_workers", "How many operations of the lane may run at a time.");
  MetricFamily queue_limit =
      Gauge("lane_queue_limit", "How many operations of the lane may wait.");
  for (const LaneUse& use : UseOfLanes(limits, list)) {
    const Label lane = {"lane", std::string(Name(use.lane))};
    Add(operations, {lane, {"state", "running"}}, use.running);
    Add(operations, {lane, {"state", "waiting"}}, use.waiting);
    Add(operations, {lane, {"state", "queued"}}, use.queued);
    Add(oldest, {lane}, Seconds(use.oldest).count());
    Add(stuck, {lane}, use.stuck);
    Add(workers, {lane}, use.limits.workers);
    Add(queue_limit, {lane}, use.limits.queued);
  }
  for (MetricFamily* family :
       {&operations, &oldest, &stuck, &workers, &queue_limit}) {
    families.push_back(std::move(*family));
  }
}

absl::string_view StageOf(const OperationInfo& operation) {
  if (operation.stopping) return "stopping";
  if (!operation.running) return "queued";
  if (operation.mutating) return "changing";
  return operation.between_looks ? "waiting" : "looking";
}

/// Verbs are the program's own words; those of which nothing is under way have
/// no series.
void AddVerbs(const std::vector<OperationInfo>& list, Families& families) {
  struct Use {
    size_t count = 0;
    std::chrono::milliseconds oldest{0};
  };
  std::map<std::pair<std::string, std::string>, Use> uses;
  for (const OperationInfo& operation : list) {
    Use& use = uses[{operation.verb, std::string(StageOf(operation))}];
    ++use.count;
    use.oldest = std::max(use.oldest, operation.age);
  }
  MetricFamily operations =
      Gauge("operations_by_stage", "Operations now, by verb and stage.");
  MetricFamily oldest =
      Gauge("operation_oldest_by_stage_seconds", "Age of the oldest of them.");
  for (const auto& [key, use] : uses) {
    const std::vector<Label> labels = {{"verb", key.first},
                                       {"stage", key.second}};
    Add(operations, labels, use.count);
    Add(oldest, labels, Seconds(use.oldest).count());
  }
  families.push_back(std::move(operations));
  families.push_back(std::move(oldest));
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
  families.push_back(
      With(Counter("reclaim_freed_bytes_total",
                   "Bytes by which images used less after sparsifications, "
                   "where that could be measured."),
           stats.freed_bytes()));
}

void AddTrims(const TrimStats& stats, Families& families) {
  families.push_back(ByOutcome(
      Counter("trims_total", "Trims that have ended, by outcome."), stats));
  families.push_back(With(
      Counter("trimmed_bytes_total",
              "Bytes that filesystems asked to discard, by their own count."),
      stats.trimmed_bytes()));
}

/// All of them, also those that have not come up yet.
void AddRoleChanges(const RoleChangeCounts& counts, Families& families) {
  MetricFamily changes =
      Counter("role_changes_total",
              "Changes of an image's role that were seen to have happened, by "
              "verb and whether they were forced.");
  for (size_t i = 0; i < kRoleVerbs; ++i) {
    const auto verb = static_cast<RoleVerb>(i);
    for (const Force force : {Force::kNo, Force::kYes}) {
      Add(changes,
          {{"verb", std::string(Name(verb))},
           {"forced", force == Force::kYes ? "true" : "false"}},
          counts.count(verb, force));
    }
  }
  families.push_back(std::move(changes));
}

void AddPlannedPoints(const PlannedPointCounts& counts, Families& families) {
  MetricFamily done = Counter(
      "planned_points_total",
      "What came of the plans of points: those that were made, read for "
      "their records, and compared with copies, and tries that failed.");
  Add(done, {{"outcome", "made"}}, counts.made);
  Add(done, {{"outcome", "read"}}, counts.read);
  Add(done, {{"outcome", "compared"}}, counts.compared);
  Add(done, {{"outcome", "failed"}}, counts.failed);
  families.push_back(std::move(done));
  families.push_back(With(
      Gauge("planned_points_volumes", "Volumes whose class asks for points."),
      counts.volumes));
  families.push_back(With(Gauge("planned_points_failing_volumes",
                                "Those of them whose plan does not go on."),
                          counts.failing));
  families.push_back(
      With(Gauge("planned_points_unread_volumes",
                 "Those with a point that waits to be read or compared."),
           counts.unread));
}

std::vector<Label> LabelsOf(const WatchedPool& pool) {
  return {{"cluster", pool.cluster_id},
          {"pool", pool.pool},
          {"namespace", pool.rados_namespace}};
}

std::vector<Label> With(std::vector<Label> labels, Label more) {
  labels.push_back(std::move(more));
  return labels;
}

void AddMirrorUp(const std::vector<Label>& labels,
                 const std::optional<bool>& up, MetricFamily& family) {
  if (up.has_value()) Add(family, labels, *up ? 1 : 0);
}

void AddWatchedPools(const WatchSnapshot& seen, SteadyTime now,
                     Families& families) {
  MetricFamily images =
      Gauge("replication_images", "Mirrored images of a pool, by role.");
  MetricFamily by_health = Gauge("replication_images_by_health",
                                 "Mirrored images of a pool, by health.");
  MetricFamily broken = Gauge(
      "replication_broken_copies",
      "Mirrored images of a pool whose copy cannot be relied on, by reason.");
  MetricFamily without_entry = Gauge(
      "replication_images_without_entry",
      "Secondaries of a pool that the journal of this site does not have.");
  MetricFamily truncated =
      Gauge("replication_images_truncated",
            "Mirrored images that have no series of their own.");
  MetricFamily mirror_up =
      Gauge("replication_rbd_mirror_up",
            "Whether an rbd-mirror of the site reports on the pool.");
  MetricFamily look_age =
      Gauge("replication_look_age_seconds",
            "Time since the pool was looked at last with success.");
  MetricFamily look_ok = Gauge("replication_look_ok",
                               "Whether the last look at the pool succeeded.");
  MetricFamily schedules = Gauge("replication_schedules_known",
                                 "Whether the manager told the schedules.");
  MetricFamily failed = Counter("replication_looks_failed_total",
                                "Looks at the pool that have failed.");
  for (const WatchedPool& pool : seen.pools) {
    const std::vector<Label> labels = LabelsOf(pool);
    Add(look_ok, labels, pool.unseen.empty() ? 1 : 0);
    Add(failed, labels, pool.failed_looks);
    if (!pool.seen_at.has_value()) continue;
    Add(look_age, labels, Seconds(now - *pool.seen_at).count());
    for (size_t i = 0; i < kWatchedRoles; ++i) {
      Add(images,
          With(labels,
               {"role", std::string(Name(static_cast<WatchedRole>(i)))}),
          pool.by_role.at(i));
    }
    for (size_t i = 0; i < kReplicationHealths; ++i) {
      Add(by_health,
          With(labels, {"health",
                        std::string(Name(static_cast<ReplicationHealth>(i)))}),
          pool.by_health.at(i));
    }
    for (size_t i = 0; i < kBrokenCopies; ++i) {
      Add(broken,
          With(labels,
               {"reason", std::string(Name(static_cast<BrokenCopy>(i)))}),
          pool.broken.at(i));
    }
    if (pool.without_entry.has_value()) {
      Add(without_entry, labels, *pool.without_entry);
    }
    Add(truncated, labels, pool.truncated());
    Add(schedules, labels, pool.schedules_unseen.empty() ? 1 : 0);
    AddMirrorUp(With(labels, {"site", "local"}), pool.local_mirror_up,
                mirror_up);
    AddMirrorUp(With(labels, {"site", "peer"}), pool.peer_mirror_up, mirror_up);
  }
  for (MetricFamily* family :
       {&images, &by_health, &broken, &without_entry, &truncated, &mirror_up,
        &look_age, &look_ok, &schedules, &failed}) {
    families.push_back(std::move(*family));
  }
  families.push_back(With(Gauge("watched_pools",
                                "Pools that are watched, also those that "
                                "cannot be seen."),
                          seen.pools.size()));
  families.push_back(
      With(Gauge("replication_pools_left_out",
                 "Pools that are not watched because there are too many."),
           seen.pools_left_out));
}

/// Seventeen digits would be a tenth of what a scrape takes.
double InThousandths(double value) { return std::round(value * 1000) / 1000; }

/// What nearly every image has in the same way is left out: thousands of images
/// are to be scraped within a megabyte.
void AddWatchedImages(const WatchSnapshot& seen, Families& families) {
  MetricFamily info =
      Gauge("replication_volume_info",
            "The volume of an image, as the last call named it; always 1.");
  MetricFamily role =
      Gauge("replication_role", "1: the image is primary here, 0: secondary.");
  MetricFamily health =
      Gauge("replication_image_health", "0: healthy, 1: degraded, 2: error.");
  MetricFamily split =
      Gauge("replication_split_brain",
            "1: both sites' images have gone their own ways; else absent.");
  MetricFamily last_sync =
      Gauge("replication_last_sync_timestamp_seconds",
            "Unix time, on the primary, of the last state that was copied "
            "completely.");
  MetricFamily interval = Gauge("replication_schedule_interval_seconds",
                                "Interval of the image's snapshot schedule.");
  MetricFamily lag =
      Gauge("replication_lag_ratio",
            "Age of the last complete copy, in intervals of its schedule.");
  MetricFamily newest =
      Gauge("replication_newest_snapshot_timestamp_seconds",
            "Unix time of the newest mirror snapshot of a primary, while "
            "nothing is copied.");
  MetricFamily missed =
      Gauge("replication_missed_snapshots",
            "Snapshots of the schedule that were due and were not taken; none: "
            "absent.");
  MetricFamily bytes = Gauge("replication_bytes_remaining",
                             "What is left of the copy under way, about.");
  const auto add_known = [](MetricFamily& family,
                            const std::vector<Label>& labels,
                            const auto& value) {
    if (value.has_value()) Add(family, labels, *value);
  };
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      const std::vector<Label> labels =
          With(LabelsOf(pool), {"image", image.image});
      if (!image.volume_id.empty()) {
        Add(info,
            With(With(labels, {"volume_id", image.volume_id}),
                 {"volume_name", image.volume_name}),
            1);
      }
      if (image.role != WatchedRole::kUnclear) {
        Add(role, labels, image.role == WatchedRole::kPrimary ? 1 : 0);
      }
      Add(health, labels, static_cast<int>(image.health));
      if (image.split_brain) Add(split, labels, 1);
      add_known(last_sync, labels, image.last_sync);
      add_known(interval, labels, image.interval_seconds);
      if (image.lag_ratio.has_value()) {
        Add(lag, labels, InThousandths(*image.lag_ratio));
      }
      add_known(bytes, labels, image.bytes_remaining);
      add_known(newest, labels, image.newest_snapshot);
      if (image.missed_snapshots.value_or(0) > 0) {
        Add(missed, labels, *image.missed_snapshots);
      }
    }
  }
  for (MetricFamily* family : {&info, &role, &health, &split, &last_sync,
                               &interval, &lag, &bytes, &newest, &missed}) {
    families.push_back(std::move(*family));
  }
}

/// What comparisons with points have found.
void AddProofs(const WatchSnapshot& seen, Families& families) {
  MetricFamily compared =
      Gauge("replication_compared_point_timestamp_seconds",
            "Unix time when the point was read on the primary with which the "
            "copy was compared last.");
  MetricFamily not_cleared =
      Gauge("replication_not_cleared_bytes",
            "Old data of a copy where the point with which it was compared has "
            "zeros; none: absent.");
  for (const WatchedPool& pool : seen.pools) {
    for (const WatchedImage& image : pool.images) {
      if (image.proof.point.empty()) continue;
      const std::vector<Label> labels =
          With(LabelsOf(pool), {"image", image.image});
      Add(compared, labels, image.proof.made);
      if (image.proof.not_cleared_bytes == 0) continue;
      Add(not_cleared, labels, image.proof.not_cleared_bytes);
    }
  }
  families.push_back(std::move(compared));
  families.push_back(std::move(not_cleared));
}

/// Of each cluster those fences have series of their own that end first.
void AddFences(const WatchSnapshot& seen, SteadyTime now, Families& families) {
  MetricFamily look_ok =
      Gauge("fence_look_ok",
            "Whether the last look at the cluster's blocklist succeeded.");
  MetricFamily look_age =
      Gauge("fence_look_age_seconds",
            "Time since the blocklist was looked at last with success.");
  MetricFamily fences =
      Gauge("fences", "Ranges and addresses that are fenced, by whomever.");
  MetricFamily clients =
      Gauge("blocklisted_clients", "Entries of single clients.");
  MetricFamily truncated =
      Gauge("fences_truncated", "Fences that end later and have no series.");
  MetricFamily expires = Gauge("fence_expires_timestamp_seconds",
                               "Unix time when the fence ends.");
  for (const WatchedFences& cluster : seen.fences) {
    const std::vector<Label> labels = {{"cluster", cluster.cluster_id}};
    Add(look_ok, labels, cluster.unseen.empty() ? 1 : 0);
    if (!cluster.seen_at.has_value()) continue;
    Add(look_age, labels, Seconds(now - *cluster.seen_at).count());
    Add(fences, labels, cluster.total);
    Add(clients, labels, cluster.clients);
    Add(truncated, labels, cluster.total - cluster.fences.size());
    for (const WatchedFence& fence : cluster.fences) {
      if (!fence.until.has_value()) continue;
      Add(expires, With(labels, {"range", fence.range}), *fence.until);
    }
  }
  for (MetricFamily* family :
       {&look_ok, &look_age, &fences, &clients, &truncated, &expires}) {
    families.push_back(std::move(*family));
  }
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(const MetricsSources& sources) {
  Families families;
  MetricFamily build = Gauge(
      "build_info",
      "Versions of the daemon and of the librados it is linked to; always 1.");
  Add(build, {{"version", ADDONS_VERSION}, {"librados", sources.librados}}, 1);
  families.push_back(std::move(build));
  families.push_back(
      With(Counter("log_lines_dropped_total",
                   "Lines of the log that were lost because nobody read them "
                   "in time."),
           LogLinesDropped()));
  for (MetricFamily& family : ProcessMetrics()) {
    families.push_back(std::move(family));
  }
  AddCalls(sources.calls, families);
  AddOperationCounters(sources.operations.stats(), families);
  if (sources.connections) AddConnections(sources.connections(), families);
  const std::vector<OperationInfo> operations = sources.operations.List();
  AddLanes(sources.operations.limits(), operations, families);
  AddVerbs(operations, families);
  if (sources.ceph_calls) AddCephCalls(sources.ceph_calls(), families);
  if (sources.reclaims != nullptr) AddReclaims(*sources.reclaims, families);
  if (sources.trims != nullptr) AddTrims(*sources.trims, families);
  if (sources.evictions) {
    families.push_back(
        With(Counter("copying_stops_total",
                     "Times that rbd-mirror of a pool was blocklisted so that "
                     "nothing was copied during forced promotions."),
             sources.evictions()));
  }
  if (sources.role_changes != nullptr) {
    AddRoleChanges(*sources.role_changes, families);
  }
  if (sources.planned_points) {
    AddPlannedPoints(sources.planned_points(), families);
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
  if (sources.watch) {
    const std::shared_ptr<const WatchSnapshot> seen = sources.watch();
    AddWatchedPools(*seen, sources.clock->Now(), families);
    AddWatchedImages(*seen, families);
    AddProofs(*seen, families);
    AddFences(*seen, sources.clock->Now(), families);
  }
  return families;
}

std::string MetricsText(const MetricsSources& sources) {
  return prometheus::TextSerializer().Serialize(CollectMetrics(sources));
}

}  // namespace addons
