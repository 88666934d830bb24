#include "replication/decide/resync.h"

#include <algorithm>
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

Next Unavailable(std::string reason) {
  return Answer(StatusCode::kUnavailable, std::move(reason));
}

/// It has begun and will end by itself.
Next NotReady(std::string reason) {
  return Answer(StatusCode::kOk, std::move(reason));
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

bool SawPrimaryLately(const ResyncSeen& seen) {
  return seen.since_primary.has_value() && *seen.since_primary < seen.settle;
}

/// The copy of a peer's image is being made, by what is seen of it now.
bool CopyRunning(const ResyncSeen& seen) {
  const MirrorView& view = seen.view;
  const MirrorSnapshot* newest = view.Newest();
  const bool creating = view.info.state == MirrorImageState::kCreating;
  const bool incomplete =
      newest != nullptr && !newest->complete && newest->copied();
  if (!view.local.has_value()) {
    // So new that nobody has reported on it yet.
    return (creating || incomplete) && SawPrimaryLately(seen);
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

Next AwaitReports() {
  return {Step::kAwaitReports, StatusCode::kUnavailable,
          "waiting for both sites to report what they see, which takes up to a "
          "minute; nothing has been begun"};
}

Next SourceGone(const ResyncSeen& s, absl::string_view what) {
  const MirrorView& view = s.view;
  return Unavailable(absl::StrCat(
      what, ", but ", PeerName(view, s.site_name),
      view.peers.empty()
          ? " is silent"
          : absl::StrCat(" ", DescribeSilence(view.peers.front().age)),
      "; it goes on when that site is back"));
}

/// This site has demoted the image, and the living peer says that it has no
/// primary of it: also when replication was ended there before this site's
/// rbd-mirror had noticed that it was primary (measured, 16.2.15).
bool MayBeLeftBehind(const MirrorView& view, SteadyDuration settle) {
  return view.OwnDemotion() && AnyLives(view, Says::kNotPrimary, settle);
}

/// A whole copy, and both sites say that neither is primary.
bool NobodyIsPrimary(const ResyncSeen& s) {
  return WholeCopy(s.view) && s.view.local->says == Says::kNotPrimary &&
         AnyLives(s.view, Says::kNotPrimary, s.settle);
}

// --- of an error that this site's rbd-mirror reports

bool IsSplit(const ResyncSeen& s) {
  return s.view.local->says == Says::kSplitBrain;
}

std::string ErrorText(const ResyncSeen& s) {
  return DescriptionText(s.view.local->status.description);
}

/// It does not pass by itself: the copy must be made anew.
bool IsBroken(const ResyncSeen& s) {
  const ResyncError error = s.error.value_or(ResyncError());
  return IsSplit(s) || (MayBeStanding(s.view, error.standing, s.settle) &&
                        error.demoted_incarnation);
}

std::string DescribeBroken(const ResyncSeen& s) {
  return IsSplit(s)
             ? absl::StrCat("split brain: ", ErrorText(s))
             : absl::StrCat("rbd-mirror of this site keeps reporting '",
                            ErrorText(s), "' since this site was demoted");
}

std::string DescribeLeftBehind(const ResyncSeen& s) {
  return absl::StrCat(
      "; where replication was ended on ", PeerName(s.view, s.site_name),
      " meanwhile, this image is no part of it any more, and in the way of a "
      "new copy: disable it here with the parameter force: \"true\", or by "
      "`rbd mirror image disable --force ",
      s.spec, "`, and remove or rename the image");
}

constexpr char kInStep[] = "this copy is in step with its peer";

constexpr Rule<ResyncSeen> kResyncTable[] = {
    // --- rbd-mirror has deleted the image and has not made it anew yet;
    // nothing of the peer can be seen meanwhile
    {"absent",
     [](const ResyncSeen& s) -> Judged {
       if (!s.absent || !SawPrimaryLately(s)) return std::nullopt;
       return NotReady(
           "the image is absent; rbd-mirror is about to recreate it");
     }},
    {"absent-without-source",
     [](const ResyncSeen& s) -> Judged {
       if (!s.absent) return std::nullopt;
       return Unavailable(
           "the image is absent on this site; rbd-mirror recreates it when the "
           "peer is alive and primary, which was not seen lately; check "
           "rbd-mirror of both sites (`rbd mirror pool status --verbose`)");
     }},

    // --- no copy that could be made anew
    {"disabling",
     [](const ResyncSeen& s) -> Judged {
       if (s.view.resync_requested ||
           s.view.info.state != MirrorImageState::kDisabling) {
         return std::nullopt;
       }
       return Unavailable(kDisablingText);
     }},
    {"off",
     [](const ResyncSeen& s) -> Judged {
       if (s.view.resync_requested || s.view.enabled()) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition,
                     "replication is not enabled");
     }},
    {"primary",
     [](const ResyncSeen& s) -> Judged {
       if (!s.view.info.primary) return std::nullopt;
       return Answer(StatusCode::kFailedPrecondition,
                     "the image is primary on this site; demote it first");
     }},

    // --- it has begun
    {"requested-without-source",
     [](const ResyncSeen& s) -> Judged {
       if (!s.view.resync_requested || !SourceIsSilent(s.view, s.settle)) {
         return std::nullopt;
       }
       return SourceGone(s, "a resync is requested");
     }},
    {"requested",
     [](const ResyncSeen& s) -> Judged {
       if (!s.view.resync_requested) return std::nullopt;
       return NotReady("a resync is requested already");
     }},

    // --- of a forced promotion that died, whatever rbd-mirror makes of it
    {"marked-copy-went-on-without-primary",
     [](const ResyncSeen& s) -> Judged {
       if (!MarkedCopyWentOn(s.rescue, s.view) ||
           LivingPrimary(s.view, s.settle)) {
         return std::nullopt;
       }
       return Unavailable(absl::StrCat(kMarkedCopyWentOn, ", when ",
                                       PeerName(s.view, s.site_name),
                                       " is alive and primary"));
     }},
    {"marked-copy-went-on",
     [](const ResyncSeen& s) -> Judged {
       if (!MarkedCopyWentOn(s.rescue, s.view) || s.force == Force::kYes) {
         return std::nullopt;
       }
       return Answer(StatusCode::kFailedPrecondition,
                     absl::StrCat(kMarkedCopyWentOn,
                                  ": set autoResync: true, or state: resync, "
                                  "or run `rbd mirror image resync ",
                                  s.spec, "`"));
     }},
    {"marked-copy-went-on-forced",
     [](const ResyncSeen& s) -> Judged {
       if (!MarkedCopyWentOn(s.rescue, s.view)) return std::nullopt;
       return Do(Step::kRequest,
                 absl::StrCat("nothing here is complete any more; this copy is "
                              "deleted and copied anew from ",
                              PeerName(s.view, s.site_name)));
     }},
    {"marked-copy",
     [](const ResyncSeen& s) -> Judged {
       if (!s.view.marked_complete_id.has_value() || !s.view.LocalDaemonUp()) {
         return std::nullopt;
       }
       return Unavailable(
           "a forced promotion died here and left a copy noted as complete "
           "that is not; the daemon takes that back within seconds, and "
           "rbd-mirror copies on then; this copy is left alone");
     }},

    {"copying-without-source",
     [](const ResyncSeen& s) -> Judged {
       if (!CopyRunning(s) || !SourceIsSilent(s.view, s.settle) ||
           s.view.quiet_for < s.settle) {
         return std::nullopt;
       }
       return SourceGone(s, "the copy is not complete");
     }},
    {"copying",
     [](const ResyncSeen& s) -> Judged {
       if (!CopyRunning(s)) return std::nullopt;
       return NotReady(
           absl::StrCat("the copy is being made; ", s.view.CopyProgress()));
     }},

    // --- of a secondary that no resync or copy is changing
    {"not-reported",
     [](const ResyncSeen& s) -> Judged {
       if (s.view.local.has_value()) return std::nullopt;
       return AwaitReports();
     }},
    {"local-mirror-down",
     [](const ResyncSeen& s) -> Judged {
       if (s.view.LocalDaemonUp()) return std::nullopt;
       return Unavailable(
           s.sent_away.empty()
               ? "rbd-mirror of this site is down, nothing is being copied; "
                 "start it"
               : absl::StrCat("nothing is being copied: ", s.sent_away));
     }},
    {"report-of-before",
     [](const ResyncSeen& s) -> Judged {
       if (IsCurrent(s.view)) return std::nullopt;
       return AwaitReports();
     }},
    {"peer-copies-demotion",
     [](const ResyncSeen& s) -> Judged {
       if (!PeerCopiesOwnDemotion(s.view, s.settle)) return std::nullopt;
       return NotReady(
           absl::StrCat(PeerName(s.view, s.site_name),
                        " is still copying the demotion of this site"));
     }},
    {"in-step",
     [](const ResyncSeen& s) -> Judged {
       // Not while nothing of the primary has been copied since this site
       // demoted itself: rbd-mirror says "idle" also in the moment before it
       // finds a split brain (seen, 16.2.15). A promotion of the peer brings a
       // snapshot.
       if (!WholeCopy(s.view) || !IsIdle(s.view.local->status) ||
           !LivingPrimary(s.view, s.settle) || s.view.OwnDemotion()) {
         return std::nullopt;
       }
       return Do(Step::kReady, kInStep);
     }},
    {"both-demoted",
     [](const ResyncSeen& s) -> Judged {
       if (!NobodyIsPrimary(s) || s.view.Yielded() ||
           !PeerInSync(s.view, s.settle)) {
         return std::nullopt;
       }
       return Do(Step::kReady, kInStep);
     }},
    {"both-demoted-out-of-step",
     [](const ResyncSeen& s) -> Judged {
       if (!NobodyIsPrimary(s) || s.view.Yielded()) return std::nullopt;
       return Unavailable(absl::StrCat(
           DescribeOutOfStep(s.view, s.site_name),
           "; where it was not, it is copied within a minute; where it was, "
           "promote that site, then this copy can be made anew"));
     }},
    {"both-demoted-given-back",
     [](const ResyncSeen& s) -> Judged {
       if (!NobodyIsPrimary(s)) return std::nullopt;
       return Unavailable(absl::StrCat(
           DescribeGivenBack(s.view, PeerName(s.view, s.site_name)),
           ", then this copy can be made anew"));
     }},

    // --- this site's rbd-mirror reports an error
    {"no-error",
     [](const ResyncSeen& s) -> Judged {
       if (ReportsError(s.view)) return std::nullopt;
       return AwaitReports();
     }},
    {"error-unread",
     [](const ResyncSeen& s) -> Judged {
       if (s.error.has_value()) return std::nullopt;
       return Do(Step::kReadError);
     }},
    {"error-may-pass",
     [](const ResyncSeen& s) -> Judged {
       if (IsBroken(s)) return std::nullopt;
       return Unavailable(absl::StrCat(
           "rbd-mirror of this site reports an error: ", ErrorText(s),
           "; this copy is left alone"));
     }},
    {"no-living-primary",
     [](const ResyncSeen& s) -> Judged {
       if (AnyLives(s.view, Says::kPrimary, s.settle)) return std::nullopt;
       return Unavailable(absl::StrCat(
           DescribeBroken(s), "; ", PeerName(s.view, s.site_name),
           " is not known to be alive and primary; a resync deletes this copy "
           "and needs a living source, so none was requested",
           MayBeLeftBehind(s.view, s.settle) ? DescribeLeftBehind(s) : ""));
     }},
    {"broken",
     [](const ResyncSeen& s) -> Judged {
       if (s.force == Force::kYes) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat(DescribeBroken(s),
                        "; this copy must be deleted and recreated from ",
                        PeerName(s.view, s.site_name),
                        ": set autoResync: true, or state: resync, or run `rbd "
                        "mirror image resync ",
                        s.spec, "`"));
     }},
    {"broken-forced",
     [](const ResyncSeen& s) -> Judged {
       return Do(Step::kRequest,
                 absl::StrCat(DescribeBroken(s),
                              "; this copy is deleted and copied anew from ",
                              PeerName(s.view, s.site_name)));
     }},
};

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

absl::Span<const Rule<ResyncSeen>> ResyncTable() { return kResyncTable; }

Next DecideResync(const ResyncSeen& seen) {
  return FirstOf(ResyncTable(), seen);
}

}  // namespace addons
