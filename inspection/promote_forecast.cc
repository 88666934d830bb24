#include "inspection/promote_forecast.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/pinned_options.h"
#include "inspection/copy_forecast.h"
#include "replication/decide/promote.h"
#include "replication/look/peers.h"
#include "replication/steps/mirror_snapshot.h"
#include "replication/steps/take_back.h"

namespace addons {
namespace {

/// What is left to do for an image that is primary already.
Forecast ForecastOfPrimary(const MirrorView& view,
                           const std::optional<RescueRecord>& rescue,
                           Force force, SteadyDuration settle,
                           const SiteNameFn& site_name) {
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    return {Verdict::kUnclear, absl::StatusCode::kUnavailable,
            "its forced promotion is half-done; whether the last complete "
            "state can be brought back shows when it is promoted again"};
  }
  if (view.own.demotion.has_value()) {
    // As a call sees them that has just begun.
    const FollowerVerdict peers = JudgeFollowers(view, settle);
    const std::string peer = site_name(peers.peer);
    if (peers.state == FollowerState::kSilent && force == Force::kNo) {
      return {Verdict::kRefuses, absl::StatusCode::kFailedPrecondition,
              DescribeSilentFollower(peer)};
    }
    if (peers.state == FollowerState::kTaken) {
      return {Verdict::kRefuses, absl::StatusCode::kUnavailable,
              DescribeTaken(view, force, peer)};
    }
    if (peers.state != FollowerState::kFollow && force == Force::kNo) {
      return {Verdict::kWaits, absl::StatusCode::kUnavailable,
              DescribeAwaitedFollower(peers, peer)};
    }
  }
  return {Verdict::kWorks, absl::StatusCode::kOk, "it is primary already"};
}

Forecast ForecastOf(const PromoteDecision& decision, const MirrorView& view,
                    VerbScope scope) {
  const absl::StatusCode code = AnswerTo(decision.action, scope);
  switch (decision.action) {
    case PromoteAction::kPlain:
      return {Verdict::kWorks, code,
              view.LastDemotionIsOwn()
                  ? "this site takes its own demotion back, and nothing is "
                    "lost"
                  : "the other site's demotion is here and complete: nothing "
                    "is lost"};
    case PromoteAction::kForced:
    case PromoteAction::kRescue:
      return {Verdict::kWorks, code,
              absl::StrCat("it returns to ", view.RestorePoint(),
                           " and loses what was written since")};
    case PromoteAction::kWait:
    case PromoteAction::kWaitForWorkload:
    case PromoteAction::kWaitForLocalMirror:
      return {Verdict::kWaits, code, decision.reason};
    case PromoteAction::kRefuseOff:
    case PromoteAction::kRefusePeerTookBack:
    case PromoteAction::kRefusePeerPrimary:
    case PromoteAction::kRefuseNoLife:
    case PromoteAction::kNothingToForce:
      return {Verdict::kRefuses, code, decision.reason};
    case PromoteAction::kAlreadyPrimary:
      break;  // ForecastOfPrimary()
  }
  return {Verdict::kUnclear, absl::StatusCode::kInternal, ""};
}

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
  PromoteEvidence seen{.view = view, .rescue = rescue};
  seen.disturbed = environment_.timeline.Disturbed(fsid);
  seen.interval = interval;
  const auto ask = [&](Force force, PromoteAction* action) {
    if (NeedsClocks(view, force)) {
      if (!listed_.ok()) return NotSeen(listed_);
      seen.clocks = series_.Note(
          SeenInSeries(view, rados_namespace, seen.disturbed, options));
    }
    const PromoteDecision decision =
        DecidePromote(seen, force, options, site_name);
    *action = decision.action;
    return decision.action == PromoteAction::kAlreadyPrimary
               ? ForecastOfPrimary(view, rescue, force, options.settle_time,
                                   site_name)
               : ForecastOf(decision, view, scope);
  };
  PromoteForecast forecast;
  PromoteAction action{};
  forecast.planned = ask(Force::kNo, &action);
  forecast.forced = ask(Force::kYes, &action);
  const CopyForecast copies = ForecastCopies(view, options.settle_time);
  SetCopies(view, copies, options.settle_time, &forecast);
  switch (action) {
    case PromoteAction::kPlain:
      forecast.lost_bytes = 0;
      break;
    case PromoteAction::kAlreadyPrimary:
      if (forecast.forced.verdict == Verdict::kWorks) forecast.lost_bytes = 0;
      break;
    case PromoteAction::kForced:
    case PromoteAction::kRescue:
      forecast.returns_to = view.RestorePoint();
      forecast.returns_to_time = view.RestoreTime();
      forecast.lost_bytes_about = copies.missing_bytes;
      break;
    default:
      break;
  }
  return forecast;
}

}  // namespace addons
