#include "replication/decide/resync.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "replication/look/leftover.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"

namespace addons {
namespace {

using absl::StatusCode;

/// An error that stands so often in rewritten reports is no passing one.
constexpr int kStandingRewrites = 2;

ResyncDecision RefuseResync(StatusCode code, std::string reason) {
  return {ResyncAction::kRefuse, code, std::move(reason)};
}

ResyncDecision Unavailable(std::string reason) {
  return RefuseResync(StatusCode::kUnavailable, std::move(reason));
}

ResyncDecision NotReady(std::string reason) {
  return {ResyncAction::kNotReady, StatusCode::kOk, std::move(reason)};
}

bool WholeCopy(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return !view.first_copy_pending;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->complete;
}

/// rbd-mirror of this site has reported on the role that the image has now.
bool IsCurrent(const MirrorView& view) {
  return WordOf(*view.local, view) >= Word::kLagging;
}

bool Replays(const MirrorView& view) {
  return view.LocalDaemonUp() &&
         view.local->status.state == MirrorStatusState::kReplaying;
}

/// A living peer has yet to copy the demotion of this site, and is not primary.
/// In journal mode the demotion is the last entry of the journal: the peer says
/// that it replays until it has met it. That the demotion was this site's is
/// marked in the metadata, which nobody can change on a secondary.
bool PeerCopiesOwnDemotion(const MirrorView& view, SteadyDuration settle) {
  return view.LastDemotionIsOwn() && AnyLives(view, Says::kSecondary, settle);
}

/// Nobody is there to copy from.
bool SourceIsSilent(const MirrorView& view, SteadyDuration settle) {
  return view.OneWay() ? view.local.has_value() && !view.LocalDaemonUp()
                       : !view.AnyFreshPeer(settle);
}

/// What rbd-mirror reports goes away when its cause does: nothing is wrong with
/// this copy.
bool PassesByItself(absl::string_view text) {
  static constexpr absl::string_view kWords[] = {
      "timed out", "timeout",   "no space",  "quota",    "full",
      "blocklist", "blacklist", "connect",   "shutdown", "shut down",
      "cancel",    "interrupt", "try again", "temporar", "busy",
      "(110)",     "(28)",      "(122)",     "(108)",    "(11)"};
  const std::string lower = absl::AsciiStrToLower(text);
  return std::any_of(
      std::begin(kWords), std::end(kWords),
      [&](absl::string_view word) { return absl::StrContains(lower, word); });
}

bool SawPrimaryLately(const ResyncEvidence& seen, SteadyDuration settle) {
  return seen.since_primary.has_value() && *seen.since_primary < settle;
}

/// The copy of a peer's image is being made, by what is seen of it now.
bool CopyRunning(const ResyncEvidence& seen, SteadyDuration settle) {
  const MirrorView& view = *seen.view;
  const MirrorSnapshot* newest = view.Newest();
  const bool creating = view.info.state == MirrorImageState::kCreating;
  const bool incomplete =
      newest != nullptr && !newest->complete && newest->copied();
  if (!view.local.has_value()) {
    // So new that nobody has reported on it yet.
    return (creating || incomplete) && SawPrimaryLately(seen, settle);
  }
  if (!view.LocalDaemonUp() || !IsCurrent(view)) return false;
  switch (view.local->status.state) {
    case MirrorStatusState::kSyncing:
      return true;
    case MirrorStatusState::kStartingReplay:
      // After a demotion of this site it is only looking what there is.
      return creating || newest == nullptr || newest->copied();
    case MirrorStatusState::kReplaying:
      return creating || incomplete;
    default:
      return false;
  }
}

std::string PeerName(const MirrorView& view, const SiteNameFn& site_name) {
  if (view.peers.empty()) return "the peer site";
  return site_name(view.peers.front().status.mirror_uuid);
}

ResyncDecision Waiting() {
  return {ResyncAction::kAwaitReports, StatusCode::kUnavailable,
          "waiting for both sites to report what they see, which takes up to a "
          "minute; nothing has been begun"};
}

ResyncDecision SourceGone(const MirrorView& view, absl::string_view what,
                          const SiteNameFn& site_name) {
  return Unavailable(absl::StrCat(
      what, ", but ", PeerName(view, site_name),
      view.peers.empty()
          ? " is silent"
          : absl::StrCat(" ", DescribeSilence(view.peers.front().age)),
      "; it goes on when that site is back"));
}

/// The journal knows the volume: rbd-mirror has deleted the image and has not
/// made it anew yet. Nothing of the peer can be seen meanwhile.
ResyncDecision DecideAbsent(const ResyncEvidence& seen, SteadyDuration settle) {
  if (SawPrimaryLately(seen, settle)) {
    return NotReady("the image is absent; rbd-mirror is about to recreate it");
  }
  return Unavailable(
      "the image is absent on this site; rbd-mirror recreates it when the "
      "peer is alive and primary, which was not seen lately; check "
      "rbd-mirror of both sites (`rbd mirror pool status --verbose`)");
}

/// This site has demoted the image, and the living peer says that it has no
/// primary of it: also when replication was ended there before this site's
/// rbd-mirror had noticed that it was primary (measured, 16.2.15).
bool MayBeLeftBehind(const MirrorView& view, SteadyDuration settle) {
  return view.OwnDemotion() && AnyLives(view, Says::kNotPrimary, settle);
}

ResyncDecision DecideOnError(const ResyncEvidence& seen, SteadyDuration settle,
                             const SiteNameFn& site_name) {
  if (!seen.error.has_value()) return {ResyncAction::kAskError, {}, ""};
  const MirrorView& view = *seen.view;
  const std::string text = DescriptionText(view.local->status.description);
  const bool split = view.local->says == Says::kSplitBrain;
  const bool broken =
      split || (MayBeStanding(view, seen.error->standing, settle) &&
                seen.error->demoted_incarnation);
  if (!broken) {
    return Unavailable(
        absl::StrCat("rbd-mirror of this site reports an error: ", text,
                     "; this copy is left alone"));
  }
  const std::string what =
      split ? absl::StrCat("split brain: ", text)
            : absl::StrCat("rbd-mirror of this site keeps reporting '", text,
                           "' since this site was demoted");
  if (!AnyLives(view, Says::kPrimary, settle)) {
    return Unavailable(absl::StrCat(
        what, "; ", PeerName(view, site_name),
        " is not known to be alive and primary; a resync "
        "deletes this copy and needs a living source, so "
        "none was requested",
        MayBeLeftBehind(view, settle)
            ? absl::StrCat("; where replication was ended on ",
                           PeerName(view, site_name),
                           " meanwhile, this image is no part of "
                           "it any more, and in the way of a new "
                           "copy: disable it here with the "
                           "parameter force: \"true\", or by `rbd "
                           "mirror image disable --force ",
                           seen.spec, "`, and remove or rename the image")
            : ""));
  }
  if (seen.force == Force::kNo) {
    return RefuseResync(
        StatusCode::kFailedPrecondition,
        absl::StrCat(what, "; this copy must be deleted and recreated from ",
                     PeerName(view, site_name),
                     ": set autoResync: true, or state: resync, or run `rbd "
                     "mirror image resync ",
                     seen.spec, "`"));
  }
  return {ResyncAction::kRequest, StatusCode::kOk,
          absl::StrCat(what, "; this copy is deleted and copied anew from ",
                       PeerName(view, site_name))};
}

/// Of an image that is a secondary and that no resync or copy is changing.
ResyncDecision DecideIdle(const ResyncEvidence& seen, SteadyDuration settle,
                          const SiteNameFn& site_name) {
  const MirrorView& view = *seen.view;
  if (!view.local.has_value()) return Waiting();
  if (!view.LocalDaemonUp()) {
    return Unavailable(
        "rbd-mirror of this site is down, nothing is being copied; start it");
  }
  if (!IsCurrent(view)) return Waiting();
  if (PeerCopiesOwnDemotion(view, settle)) {
    return NotReady(
        absl::StrCat(PeerName(view, site_name),
                     " is still copying the demotion of this site"));
  }
  ResyncDecision ready = {ResyncAction::kReady, StatusCode::kOk,
                          "this copy is in step with its peer"};
  if (WholeCopy(view)) {
    // Not while nothing of the primary has been copied since this site demoted
    // itself: rbd-mirror says "idle" also in the moment before it finds a split
    // brain (seen, 16.2.15). A promotion of the peer brings a snapshot.
    if (IsIdle(view.local->status) && LivingPrimary(view, settle) &&
        !view.OwnDemotion()) {
      return ready;
    }
    if (view.local->says == Says::kNotPrimary &&
        AnyLives(view, Says::kNotPrimary, settle)) {
      if (!view.GaveRoleBack()) {
        if (KeptInStep(view, settle)) return ready;
        return Unavailable(absl::StrCat(
            DescribeOutOfStep(view, site_name),
            "; where it was not, it is copied within a minute; where it was, "
            "promote that site, then this copy can be made anew"));
      }
      return Unavailable(
          absl::StrCat(DescribeGivenBack(view, PeerName(view, site_name)),
                       ", then this copy can be made anew"));
    }
  }
  if (ReportsError(view)) return DecideOnError(seen, settle, site_name);
  return Waiting();
}

}  // namespace

bool LivingPrimary(const MirrorView& view, SteadyDuration settle) {
  // With one-way mirroring the peer has no report; there the local rbd-mirror
  // tells by replaying.
  return AnyLives(view, Says::kPrimary, settle) ||
         (view.OneWay() && Replays(view));
}

bool ReportsError(const MirrorView& view) {
  return view.local.has_value() &&
         view.local->status.state == MirrorStatusState::kError;
}

bool MayBeStanding(const MirrorView& view, const ErrorStanding& standing,
                   SteadyDuration settle) {
  return view.local->says != Says::kSplitBrain &&
         !PassesByItself(DescriptionText(view.local->status.description)) &&
         standing.stands_for >= settle &&
         standing.rewrites >= kStandingRewrites;
}

ResyncDecision DecideResync(const ResyncEvidence& seen, SteadyDuration settle,
                            const SiteNameFn& site_name) {
  if (seen.view == nullptr) return DecideAbsent(seen, settle);
  const MirrorView& view = *seen.view;
  if (!view.resync_requested) {
    if (view.info.state == MirrorImageState::kDisabling) {
      return Unavailable(kDisablingText);
    }
    if (!view.enabled()) {
      return RefuseResync(StatusCode::kFailedPrecondition,
                          "replication is not enabled");
    }
  }
  if (view.info.primary) {
    return RefuseResync(StatusCode::kFailedPrecondition,
                        "the image is primary on this site; demote it first");
  }
  if (view.resync_requested) {
    if (SourceIsSilent(view, settle)) {
      return SourceGone(view, "a resync is requested", site_name);
    }
    return NotReady("a resync is requested already");
  }
  if (CopyRunning(seen, settle)) {
    if (SourceIsSilent(view, settle) && view.quiet_for >= settle) {
      return SourceGone(view, "the copy is not complete", site_name);
    }
    return NotReady(
        absl::StrCat("the copy is being made; ", view.CopyProgress()));
  }
  return DecideIdle(seen, settle, site_name);
}

}  // namespace addons
