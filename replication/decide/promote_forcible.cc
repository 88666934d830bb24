#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/utc.h"
#include "replication/decide/promote_rows.h"
#include "replication/decide/wait_clock.h"

namespace addons {
namespace {

/// It has been rewritten lately, and will be again.
bool Reports(const SiteView& site) { return site.age < kJustReported; }

MirrorView ViewLater(MirrorView view, SteadyDuration later) {
  for (SiteView& peer : view.peers) {
    if (!Reports(peer)) peer.age += later;
  }
  if (view.local.has_value() && !Reports(*view.local)) view.local->age += later;
  if (view.silent_peer_age.has_value()) *view.silent_peer_age += later;
  view.refused_demotion_age += later;
  return view;
}

/// Those that run.
SeriesClocks ClocksLater(SeriesClocks clocks, SteadyDuration later) {
  clocks.looked_for += later;
  clocks.quiet_for += later;
  for (SteadyDuration* clock :
       {&clocks.peer_primary_for, &clocks.image_primary_for}) {
    if (*clock > SteadyDuration::zero()) *clock += later;
  }
  if (clocks.evicted_for.has_value()) *clocks.evicted_for += later;
  if (clocks.first_evicted_for.has_value()) *clocks.first_evicted_for += later;
  return clocks;
}

/// When time alone may change what a row says: a clock or an age reaches a time
/// of the options. Ascending, in whole seconds, rounded up.
std::set<std::chrono::seconds> Moments(const PromoteSeen& s) {
  const SteadyDuration settle = Settle(s);
  const MirrorView& view = s.view;
  std::vector<SteadyDuration> clocks = {s.clocks.looked_for, s.clocks.quiet_for,
                                        s.clocks.peer_primary_for,
                                        s.clocks.image_primary_for};
  for (const SiteView& peer : view.peers) clocks.push_back(peer.age);
  if (view.local.has_value()) clocks.push_back(view.local->age);
  if (view.silent_peer_age.has_value()) clocks.push_back(*view.silent_peer_age);
  if (s.clocks.evicted_for.has_value()) clocks.push_back(*s.clocks.evicted_for);
  std::set<std::chrono::seconds> moments = {std::chrono::seconds(0)};
  if (RefusalStands(view)) {
    moments.insert(std::chrono::ceil<std::chrono::seconds>(
        kRefusalCounts - view.refused_demotion_age));
  }
  for (const SteadyDuration clock : clocks) {
    for (const SteadyDuration time :
         {settle, 2 * settle, SteadyDuration(s.options.takeover_time)}) {
      if (time > clock) {
        moments.insert(std::chrono::ceil<std::chrono::seconds>(time - clock));
      }
    }
  }
  return moments;
}

/// What is decided `later`, if nothing changes.
Next DecideLater(const PromoteSeen& seen, std::chrono::seconds later) {
  const MirrorView view = ViewLater(seen.view, later);
  PromoteSeen then{.view = view,
                   .rescue = seen.rescue,
                   .options = seen.options,
                   .site_name = NoSiteNames(),
                   .force = seen.force,
                   .scope = seen.scope};
  then.clocks = ClocksLater(seen.clocks, later);
  then.disturbed = seen.disturbed;
  then.interval = seen.interval;
  return DecidePromote(then);
}

/// A wait that is over, and in how long.
struct Over {
  std::chrono::seconds in{0};
  absl::string_view row;  // that says so
};

/// nullopt: it is not, then.
std::optional<Over> OverIn(const PromoteSeen& seen,
                           std::chrono::seconds later) {
  const Next next = DecideLater(seen, later);
  // A site that lives tells once more that it is to be demoted.
  if (next.row == kPeerPrimaryRow && RefusalStands(seen.view)) {
    return std::nullopt;
  }
  const bool over =
      Forced(seen) ? !next.answers() && !next.waits()
                   : next.answers() &&
                         next.code == absl::StatusCode::kFailedPrecondition;
  return over ? std::optional<Over>({later, next.row}) : std::nullopt;
}

/// When and why the wait is over first; nullopt: never as far as is seen.
std::optional<Over> FindOver(const PromoteSeen& seen,
                             std::optional<std::chrono::seconds> known) {
  // What arrives may go on with that, and each time begins the clocks anew.
  constexpr std::chrono::seconds kAtOnce{10};
  const SeriesClocks& clocks = seen.clocks;
  if (clocks.looked_for - clocks.quiet_for > kAtOnce &&
      clocks.quiet_for < kJustReported) {
    return std::nullopt;
  }
  if (known.has_value() && *known > kForcibleStep &&
      !OverIn(seen, *known - kForcibleStep).has_value()) {
    if (const auto over = OverIn(seen, *known); over.has_value()) return over;
  }
  // One row may take the place of another before its time: the first counts.
  for (const std::chrono::seconds in : Moments(seen)) {
    if (const auto over = OverIn(seen, in); over.has_value()) return over;
  }
  return std::nullopt;
}

std::chrono::seconds Whole(SteadyDuration duration) {
  return std::chrono::floor<std::chrono::seconds>(duration);
}

/// The peer that was heard of last; nullptr: none has a report here.
const SiteView* HeardLast(const MirrorView& view) {
  const auto last = std::min_element(
      view.peers.begin(), view.peers.end(),
      [](const SiteView& a, const SiteView& b) { return a.age < b.age; });
  return last == view.peers.end() ? nullptr : &*last;
}

/// What a living primary is counted for that is over last.
void CountPrimary(const PromoteSeen& s, WaitClock* clock) {
  const SteadyDuration takeover = s.options.takeover_time;
  const bool pool_is_last = takeover - s.clocks.peer_primary_for >=
                            Settle(s) - s.clocks.image_primary_for;
  clock->what = WaitsFor::kPrimary;
  clock->seen_for = Whole(pool_is_last ? s.clocks.peer_primary_for
                                       : s.clocks.image_primary_for);
  clock->needed = Whole(pool_is_last ? takeover : Settle(s));
}

}  // namespace

std::optional<WaitClock> WaitClockOf(
    const PromoteSeen& seen, std::optional<std::chrono::seconds> known) {
  const MirrorView& view = seen.view;
  if (!view.enabled() || view.info.primary) return std::nullopt;
  WaitClock clock;
  clock.force = seen.force;
  const SiteView* heard = HeardLast(view);
  clock.site =
      seen.site_name(heard == nullptr ? "" : heard->status.mirror_uuid);
  if (heard != nullptr) clock.report_age = Whole(heard->age);
  const std::optional<Over> over = FindOver(seen, known);
  if (!over.has_value()) return clock;
  clock.over_in = over->in;
  if (over->row == kPeerPrimaryRow) {
    CountPrimary(seen, &clock);
  } else if (RefusalStands(view) && !Forced(seen)) {
    clock.what = WaitsFor::kRefusal;
    clock.seen_for = Whole(view.refused_demotion_age);
    clock.needed = kRefusalCounts;
  } else if (Forced(seen)) {  // rests on reports alone
    clock.seen_for = clock.report_age.value_or(std::chrono::seconds(0));
    clock.needed = Whole(Settle(seen));
  } else {
    clock.seen_for = Whole(SilentFor(Life(seen)));
    clock.needed = Whole(SilenceNeeded(Life(seen), seen.options));
  }
  return clock;
}

std::string MomentOf(WallTime moment) {
  return absl::StrCat("at about ",
                      FormatUtcTimeOfDay(absl::FromChrono(moment)));
}

std::string MomentAfterWait(std::chrono::seconds wait) {
  return absl::StrCat("about ", wait.count(), " s after a call begins to wait");
}

std::string DescribeWaitClock(const WaitClock& clock,
                              absl::string_view moment) {
  if (!clock.over_in.has_value()) {
    return clock.report_age.has_value()
               ? absl::StrCat("the last report of ", clock.site, " is ",
                              clock.report_age->count(), " s old")
               : "";
  }
  std::string waits;
  switch (clock.what) {
    case WaitsFor::kSilence:
      waits = absl::StrCat("no sign of ", clock.site);
      break;
    case WaitsFor::kPrimary:
      waits = absl::StrCat(clock.site, " is primary");
      break;
    case WaitsFor::kRefusal:
      waits = absl::StrCat("that ", clock.site, " is to be demoted is known");
      break;
  }
  return absl::StrCat(
      waits, " for ", clock.seen_for.count(), " s of ", clock.needed.count(),
      clock.force == Force::kYes ? " s (" : " s while calls wait (",
      clock.report_age.has_value()
          ? absl::StrCat("last report ", clock.report_age->count(), " s ago")
          : "no report of it is here",
      "); ",
      clock.force == Force::kYes ? "the promotion goes on "
                                 : "forcing is offered ",
      moment, " if nothing changes");
}

}  // namespace addons
