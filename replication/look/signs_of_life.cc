#include "replication/look/signs_of_life.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "replication/look/report.h"

namespace addons {
namespace {

/// A blocklisted rbd-mirror that reaches its peer reports again within 70 s.
constexpr std::chrono::seconds kMirrorReturns{120};

/// With one-way mirroring nothing tells that the primary is alive but that its
/// snapshots arrive. Both stamps are this cluster's.
bool OneWayIsDead(const LifeEvidence& seen, const ReplicationOptions& options) {
  const MirrorView& view = seen.view;
  if (view.info.mode == MirrorMode::kJournal || !seen.interval.has_value()) {
    return false;
  }
  const SteadyDuration needed = SilenceNeeded(seen, options);
  if (seen.clocks.quiet_for >= needed) return true;
  if (!view.local.has_value() || view.Newest() == nullptr) return false;
  const std::chrono::seconds since_newest(
      view.local->status.last_update -
      std::chrono::system_clock::to_time_t(view.Newest()->created) -
      kStampMargin.count());
  return since_newest >= needed;
}

/// Journal mode: this site's rbd-mirror knows of entries that it has not
/// replayed, and lives.
bool JournalIsBehind(const MirrorView& view, SteadyDuration settle) {
  return view.local.has_value() && view.local->age < settle &&
         view.EntriesBehind() > 0;
}

}  // namespace

bool SomethingArrives(const MirrorView& view, SteadyDuration settle) {
  if (view.info.mode == MirrorMode::kJournal) {
    return JournalIsBehind(view, settle);
  }
  return view.Newest() != nullptr && !view.Newest()->complete;
}

bool SilencedByUs(const SeriesClocks& clocks) {
  return clocks.evicted_for.has_value() &&
         *clocks.evicted_for >= kMirrorReturns;
}

bool WasDeadBeforeEviction(const LifeEvidence& seen, SteadyDuration settle) {
  const SeriesClocks& clocks = seen.clocks;
  const std::vector<SiteView>& peers = seen.view.peers;
  // Of a peer without a report nothing is known.
  if (!clocks.first_evicted_for.has_value() || peers.empty() ||
      seen.view.silent_peer_age.has_value()) {
    return false;
  }
  return clocks.quiet_before_eviction >= settle &&
         std::all_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
           return peer.age >= settle + *clocks.first_evicted_for;
         });
}

bool SilentForThePeer(const LifeEvidence& seen) {
  return seen.clocks.cut_off && !seen.view.OneWay();
}

bool LocalMirrorWorks(const MirrorView& view,
                      const ReplicationOptions& options) {
  if (options.force_without_local_mirror) return true;
  if (!view.local.has_value() || view.local->age >= options.settle_time) {
    return false;
  }
  // An rbd-mirror that ends says "stopped", without a word of a role.
  if (view.local->status.state == MirrorStatusState::kStopped &&
      view.local->says != Says::kPrimary) {
    return false;
  }
  // Reports on images of a namespace were seen to be rewritten while the flag
  // "up" was false, for as long as the peer was dead (16.2.15).
  return view.local->status.up || view.local->rewritten;
}

PromoteSeries::Copy CopyState(const MirrorView& view,
                              const ReplicationOptions& options) {
  if (options.force_without_local_mirror) return PromoteSeries::Copy::kFollows;
  if (!view.local.has_value()) return PromoteSeries::Copy::kParted;
  const bool works = LocalMirrorWorks(view, options);
  if (view.local->says == Says::kSecondary) {
    return works ? PromoteSeries::Copy::kFollows
                 : PromoteSeries::Copy::kFollowed;
  }
  return works && view.local->status.state == MirrorStatusState::kStartingReplay
             ? PromoteSeries::Copy::kStarts
             : PromoteSeries::Copy::kParted;
}

bool CopyFollows(const LifeEvidence& seen, const ReplicationOptions& options) {
  const PromoteSeries::Copy copy = CopyState(seen.view, options);
  return copy == PromoteSeries::Copy::kFollows ||
         (copy == PromoteSeries::Copy::kFollowed &&
          seen.clocks.evicted_for.has_value());
}

bool LocalWordCounts(const LifeEvidence& seen,
                     const ReplicationOptions& options) {
  return LocalMirrorWorks(seen.view, options) ||
         seen.clocks.evicted_for.has_value();
}

bool NoSignOfLife(const LifeEvidence& seen, const ReplicationOptions& options) {
  const MirrorView& view = seen.view;
  const SteadyDuration settle = options.settle_time;
  const bool was_dead = WasDeadBeforeEviction(seen, settle);
  if (seen.disturbed || view.AnyFreshPeer(settle) ||
      !(LocalMirrorWorks(view, options) || SilencedByUs(seen.clocks) ||
        SilentForThePeer(seen) || was_dead)) {
    return false;
  }
  if (view.OneWay() && !OneWayIsDead(seen, options)) return false;
  return seen.clocks.quiet_for >=
         (view.OneWay() ? settle : SilenceNeeded(seen, options));
}

SteadyDuration SilentFor(const LifeEvidence& seen) {
  SteadyDuration silent = seen.clocks.quiet_for;
  for (const SiteView& peer : seen.view.peers) {
    silent = std::min(silent, peer.age);
  }
  if (seen.view.silent_peer_age.has_value()) {
    silent = std::min(silent, *seen.view.silent_peer_age);
  }
  return silent;
}

SteadyDuration SilenceNeeded(const LifeEvidence& seen,
                             const ReplicationOptions& options) {
  const SteadyDuration settle = options.settle_time;
  if (seen.view.OneWay()) {
    return std::max(settle, seen.interval.has_value()
                                ? 3 * SteadyDuration(*seen.interval)
                                : settle);
  }
  // What the journal holds and was not replayed is on its way: each entry that
  // is replayed begins the time anew. But a primary that died in the middle of
  // its writes leaves the rest so for ever (the number is of what was known
  // last, and is repeated in each report), and its site must be recognised as
  // dead in the end. So an unchanged backlog counts for twice the time, while
  // somebody is there who could replay it.
  return !WasDeadBeforeEviction(seen, settle) &&
                 JournalIsBehind(seen.view, settle)
             ? 2 * settle
             : settle;
}

bool ImageShowsNoLife(const MirrorView& view,
                      const ReplicationOptions& options) {
  const SteadyDuration settle = options.settle_time;
  if (view.AnyFreshPeer(settle)) return false;
  if (view.OneWay()) {
    if (view.local.has_value() && view.local->age < settle) return false;
    if (!view.local.has_value() && view.quiet_for < settle) return false;
  }
  // A copy that is stuck on a dead site says "syncing" for ever, so that word
  // counts only while something moves.
  const bool syncing = view.LocalDaemonUp() && IsSyncing(view.local->status);
  return view.quiet_for >=
         (syncing ? settle : SteadyDuration(options.look_gap));
}

std::string DescribeDeath(const LifeEvidence& seen,
                          const SiteNameFn& site_name) {
  const MirrorView& view = seen.view;
  std::vector<std::string> dead;
  for (const SiteView& peer : view.peers) {
    dead.push_back(absl::StrCat("rbd-mirror of ",
                                site_name(peer.status.mirror_uuid), " ",
                                DescribeSilence(peer.age)));
  }
  if (view.silent_peer_age.has_value()) {
    dead.push_back(absl::StrCat(
        "there is no report of the peer site's rbd-mirror on this image, also "
        "not in the last ",
        WholeSeconds(*view.silent_peer_age), " s"));
  } else if (view.peers.empty()) {
    dead.emplace_back("no peer has ever reported");
  }
  if (SilentForThePeer(seen)) {
    dead.emplace_back(
        "rbd-mirror of this site lives and cannot connect to the other site's "
        "cluster");
  } else if (!view.LocalDaemonUp()) {
    dead.push_back(seen.clocks.sent_away.empty()
                       ? "rbd-mirror of this site is down"
                       : seen.clocks.sent_away);
  }
  if (view.OneWay()) {
    dead.emplace_back(
        "mirroring is one-way and no snapshot has arrived for three intervals");
  }
  return absl::StrJoin(dead, ", ");
}

}  // namespace addons
