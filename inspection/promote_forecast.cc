#include "inspection/promote_forecast.h"

#include <utility>

#include "ceph/pinned_options.h"
#include "inspection/copy_forecast.h"
#include "replication/decide/promote.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"

namespace addons {
namespace {

/// What a planned promotion has to wait for.
void SetCopies(const MirrorView& view, const CopyForecast& copies,
               SteadyDuration settle, PromoteForecast* forecast) {
  const Verdict planned = forecast->planned.verdict;
  if (planned == Verdict::kWorks) {
    forecast->bytes_to_come = 0;
    forecast->planned_seconds = 0;
    return;
  }
  forecast->bytes_to_come = copies.bytes_to_come;
  // From a site that is not heard of no demotion comes.
  if (planned == Verdict::kWaits || view.AnyFreshPeer(settle)) {
    forecast->planned_seconds = copies.seconds_to_demotion;
  }
}

}  // namespace

void ForecastRoom(const OpenedVolume& opened, const MirrorView& view,
                  PromoteForecast* forecast) {
  if (!view.enabled() || view.info.primary) return;
  std::vector<Forecast*> promoted;
  for (Forecast* one : {&forecast->planned, &forecast->forced}) {
    if (one->verdict == Verdict::kWorks) promoted.push_back(one);
  }
  if (promoted.empty()) return;
  const auto room = ReadSnapshotRoom(*opened.reads, view);
  if (room.ok() && room->For(1)) return;
  for (Forecast* one : promoted) {
    *one = room.ok()
               ? Forecast{Verdict::kRefuses, absl::StatusCode::kUnavailable,
                          DescribeNoRoomForCopy(*room, opened, view)}
               : NotSeen(room.status());
  }
}

void ForecastLock(const std::vector<Locker>& lockers,
                  PromoteForecast* forecast) {
  const std::string lock = LockTakenByHand(lockers);
  if (lock.empty()) return;
  for (Forecast* one : {&forecast->planned, &forecast->forced}) {
    if (one->verdict != Verdict::kWorks) continue;
    *one = {Verdict::kRefuses, absl::StatusCode::kUnavailable, lock};
  }
}

PromotePreview::PromotePreview(ReplicationEnvironment& environment,
                               std::string pool_key)
    : environment_(environment),
      pool_key_(std::move(pool_key)),
      series_(environment.clock) {
  environment.series.CopyTo(pool_key_, series_);
}

void PromotePreview::List(Cluster& cluster, Pool& own) {
  listed_.Update(series_.List(cluster, own, pool_key_));
  if (auto peers = own.MirrorPeers(); peers.ok()) peers_ = *std::move(peers);
}

void PromotePreview::TellClock(const PromoteSeen& seen, Forecast* forecast) {
  forecast->clock = WaitClockOf(seen);
  if (!forecast->clock.has_value()) return;
  const WaitClock& clock = *forecast->clock;
  const std::chrono::seconds in =
      clock.over_in.value_or(std::chrono::seconds(0));
  // The moment is that of calls that wait now.
  const bool waits = seen.clocks.looked_for > SteadyDuration::zero();
  forecast->clock_text = DescribeWaitClock(
      clock, waits ? MomentOf(environment_.clock.WallNow() + in)
                   : MomentAfterWait(in));
}

PromoteForecast PromotePreview::Of(const MirrorView& view,
                                   const std::optional<RescueRecord>& rescue,
                                   const std::string& fsid,
                                   const std::string& rados_namespace,
                                   std::optional<std::chrono::minutes> interval,
                                   VerbScope scope) {
  const ReplicationOptions& options = environment_.options;
  const SiteNameFn site_name = [this](const std::string& uuid) {
    return SiteNameOf(uuid);
  };
  PromoteSeen seen{.view = view,
                   .rescue = rescue,
                   .options = options,
                   .site_name = site_name,
                   .scope = scope};
  seen.disturbed = environment_.timeline.Disturbed(fsid);
  seen.interval = interval;
  Step step = Step::kAnswer;
  const auto ask = [&](Force force) {
    seen.force = force;
    if (NeedsClocks(view, force)) {
      if (!listed_.ok()) return NotSeen(listed_);
      seen.clocks = series_.Note(
          SeenInSeries(view, rados_namespace, seen.disturbed, options));
    }
    const Next next = ForecastPromote(seen);
    step = next.step;
    Forecast one = ForecastOf(next);
    if (one.verdict == Verdict::kWaits) TellClock(seen, &one);
    return one;
  };
  PromoteForecast forecast;
  forecast.planned = ask(Force::kNo);
  forecast.forced = ask(Force::kYes);
  const CopyForecast copies = ForecastCopies(view, options.settle_time);
  SetCopies(view, copies, options.settle_time, &forecast);
  if (step == Step::kPromoteByForce || step == Step::kRescue) {
    forecast.returns_to = view.RestorePoint();
    forecast.returns_to_time = view.RestoreTime();
    forecast.lost_bytes_about = copies.missing_bytes;
  } else if (step == Step::kPromote ||
             (view.info.primary &&
              forecast.forced.verdict == Verdict::kWorks)) {
    forecast.lost_bytes = 0;
  }
  return forecast;
}

}  // namespace addons
