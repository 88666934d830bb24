#include "replication/promotion_rest.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/image_objects.h"
#include "ceph/pool.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/peers.h"
#include "replication/session.h"

namespace addons {
namespace {

/// Reports are rewritten every 30 s. One that is older may be the last of its
/// site.
constexpr std::chrono::seconds kReported{45};

bool IsFresh(const SiteView& site) {
  return site.status.up && site.age < kReported;
}

/// The reports are those of the look, in a listing that is younger, and their
/// sites live. What the timeline learns of their ages it would have learnt from
/// a look.
bool ReportsStand(ReplicationEnvironment& environment,
                  const PromotionRest& rest, Cluster& cluster, Pool& reads) {
  const SteadyDuration longest = environment.options.longest_rest;
  if (environment.timeline.Disturbed(cluster.fsid()) ||
      !environment.series.List(cluster, reads, rest.pool_key, longest).ok()) {
    return false;
  }
  const auto listed = environment.series.Reports(
      rest.pool_key, rest.rados_namespace, rest.image_id);
  if (!listed.has_value() || listed->at < *rest.looked_at ||
      environment.clock.Now() - listed->at >= 2 * longest ||
      listed->digest != rest.reports) {
    return false;
  }
  return environment.timeline.OldestAge(rest.timeline_key, listed->sites) <
         kReported;
}

absl::StatusOr<std::vector<uint64_t>> HeaderWatchers(
    Pool& reads, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Watcher> watchers,
                          reads.ListWatchers(HeaderObject(image_id)));
  std::vector<uint64_t> clients;
  clients.reserve(watchers.size());
  for (const Watcher& watcher : watchers) clients.push_back(watcher.client_id);
  std::sort(clients.begin(), clients.end());
  return clients;
}

/// Whether what the last look has found still stands. One read (a demotion:
/// two), and now and then a listing of the pool; false when one of them fails.
bool MayRest(OperationContext& context, ReplicationEnvironment& environment,
             const PromotionRest& rest, Cluster& cluster, Pool& reads) {
  if (context.mutating() || !rest.looked_at.has_value() ||
      !rest.header_version.has_value()) {
    return false;
  }
  const SteadyTime now = context.clock().Now();
  if (rest.for_workload) {
    const auto watchers = HeaderWatchers(reads, rest.image_id);
    if (!watchers.ok() || *watchers != rest.watchers ||
        now - *rest.looked_at >= environment.options.settled_rest) {
      return false;
    }
  } else if (now - *rest.looked_at >= environment.options.longest_rest &&
             (!rest.reports_until.has_value() || now >= *rest.reports_until ||
              !ReportsStand(environment, rest, cluster, reads))) {
    return false;
  }
  const auto version = reads.HeaderVersion(rest.image_id);
  return version.ok() && *version == *rest.header_version;
}

}  // namespace

void NoteVersion(Pool& reads, PromotionRest* rest) {
  rest->looked_at.reset();
  rest->header_version.reset();
  rest->reports_until.reset();
  if (rest->image_id.empty() || rest->pending.ok()) return;
  if (rest->for_workload) {
    auto watchers = HeaderWatchers(reads, rest->image_id);
    if (!watchers.ok()) return;
    rest->watchers = *std::move(watchers);
  }
  const auto version = reads.HeaderVersion(rest->image_id);
  if (version.ok()) rest->header_version = *version;
}

void NoteRest(const OpenedVolume& opened, SteadyTime looked_at,
              const absl::Status& pending, PromotionRest* rest) {
  rest->looked_at = looked_at;
  rest->pending = pending;
  rest->cluster = opened.volume.cluster;
  rest->pool_id = opened.volume.pool_id;
  rest->rados_namespace = opened.volume.rados_namespace;
}

void NoteSettled(ReplicationEnvironment& environment, const MirrorView& view,
                 const SeriesClocks& clocks, PromotionRest* rest) {
  const ReplicationOptions& options = environment.options;
  rest->reports_until.reset();
  const MirrorSnapshot* newest = view.Newest();
  const bool follows = newest != nullptr && newest->complete &&
                       !newest->demoted() && !NeedsReport(view) &&
                       !view.Yielded();
  if (!follows || !view.local.has_value() || !IsFresh(*view.local) ||
      view.local->status.state != MirrorStatusState::kReplaying ||
      !std::all_of(view.peers.begin(), view.peers.end(), IsFresh)) {
    return;
  }
  if (!PrimaryPeer(view, options.settle_time).has_value()) return;
  const SteadyDuration to_takeover =
      options.takeover_time - clocks.peer_primary_for;
  if (to_takeover <= options.longest_rest) return;
  rest->reports = DigestOf(view);
  rest->reports_until =
      *rest->looked_at +
      std::min<SteadyDuration>(options.settled_rest, to_takeover);
  rest->pool_key = view.pool_key;
  rest->timeline_key = view.timeline_key;
  environment.series.WatchReports(rest->pool_key, rest->rados_namespace,
                                  rest->image_id);
}

SteadyDuration UntilNextLook(OperationContext& context,
                             const ReplicationEnvironment& environment,
                             std::optional<SteadyTime> answer_by) {
  const SteadyDuration poll = environment.options.poll_interval;
  return answer_by.has_value()
             ? std::min(poll, *answer_by - context.clock().Now())
             : poll;
}

absl::Status RestOn(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const PromotionRest& rest,
                    std::optional<SteadyTime> answer_by) {
  while (rest.looked_at.has_value() &&
         (!answer_by.has_value() || context.clock().Now() < *answer_by)) {
    const std::shared_ptr<Cluster> cluster = rest.cluster.lock();
    if (cluster == nullptr) break;
    const auto reads =
        cluster->OpenPool(rest.pool_id, rest.rados_namespace, Access::kRead);
    if (!reads.ok() ||
        !MayRest(context, environment, rest, *cluster, **reads)) {
      break;
    }
    context.SetPending(rest.pending);
    ADDONS_RETURN_IF_ERROR(
        context.LookAgainAfter(UntilNextLook(context, environment, answer_by)));
  }
  return absl::OkStatus();
}

}  // namespace addons
