#include "replication/decide/promote.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/look/leftover.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/move_marks.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"
#include "replication/look/signs_of_life.h"

namespace addons {
namespace {

/// A peer has not told its role since the call began. One without a report is
/// awaited like one that is silent: that is no word of it. Only force does
/// without.
bool AwaitsReport(const MirrorView& view, Force force, SteadyDuration settle) {
  const std::vector<SiteView>& peers = view.peers;
  const bool forced = force == Force::kYes;
  if (view.silent_peer_age.has_value() && !forced) return true;
  return std::any_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
    if (forced && peer.age >= settle) return false;
    return peer.rewrites_in_call == 0 ||
           peer.status.state == MirrorStatusState::kStartingReplay;
  });
}

constexpr char kByHand[] = "force by hand with `rbd-addons promote ID --force`";

/// `arrived`: the demotion is here, and what tells that it still holds is not.
std::string DescribeWait(const MirrorView& view, bool arrived,
                         SteadyDuration settle, const SiteNameFn& site_name) {
  const std::string progress = view.CopyProgress();
  std::string reason;
  const MirrorSnapshot* newest = view.Newest();
  if (arrived && NeedsReport(view)) {
    return absl::StrCat(view.OwnDemotion() ? "this site demoted itself; " : "",
                        "waiting for the peer's next report, which tells "
                        "whether it is primary (up to half a minute)");
  }
  if (arrived) {
    return "the demotion has arrived; rbd-mirror of this site, which would "
           "tell whether the peer took the role back since, is down or has "
           "not reported; it does so within half a minute of its start";
  }
  if (const SiteView* peer =
          FindPeer(view, Says::kPrimary, Word::kOutdated, settle);
      peer != nullptr) {
    reason =
        absl::StrCat(site_name(peer->status.mirror_uuid),
                     " still reports its image as primary: demote it there");
    if (newest != nullptr && newest->demoted()) {
      absl::StrAppend(&reason, " (or its report is about to change)");
    }
  } else if (newest != nullptr && newest->demoted()) {
    reason = "the peer's demotion has begun to arrive";
  } else {
    reason = "the peer's demotion has not arrived yet";
  }
  if (!progress.empty()) absl::StrAppend(&reason, "; ", progress);
  if (view.local.has_value() && view.local->says == Says::kError) {
    absl::StrAppend(&reason, "; rbd-mirror of this site reports '",
                    DescriptionText(view.local->status.description), "'");
  }
  if (!view.LocalDaemonUp()) {
    absl::StrAppend(&reason,
                    "; rbd-mirror of this site is down or has not reported, "
                    "nothing can arrive until it runs");
  }
  return reason;
}

/// Of a view with PeerWentOn(), or of a split brain.
std::string DescribeWhyPeerWentOn(const MirrorView& view) {
  if (!view.PeerWentOn() || (!view.GaveRoleBack() && !view.resync_requested)) {
    return "rbd-mirror of this site reports a split brain: the other site went "
           "on from another content, and nothing here tells which of the two "
           "is the right one; promote that site, resync this image and move "
           "again";
  }
  if (view.GaveRoleBack()) {
    return absl::StrCat(DescribeGivenBack(view, "that site"),
                        ", resync this image and move again");
  }
  return "a resync of this image was requested because another site was "
         "primary, and what was written there since is not here: promote that "
         "site, resync this image and move again";
}

using absl::StatusCode;

constexpr char kIsPrimary[] = "it is primary already";

bool Forced(const PromoteSeen& s) { return s.force == Force::kYes; }

SteadyDuration Settle(const PromoteSeen& s) { return s.options.settle_time; }

LifeEvidence Life(const PromoteSeen& s) {
  return {s.view, s.clocks, s.disturbed, s.interval};
}

bool Dead(const PromoteSeen& s) { return NoSignOfLife(Life(s), s.options); }

/// What forcing loses.
std::string Loss(const PromoteSeen& s) {
  return absl::StrCat("forcing returns to ", s.view.RestorePoint(),
                      " and loses what was written since");
}

/// What a promotion by force leaves.
std::string ReturnsTo(const PromoteSeen& s) {
  return absl::StrCat("it returns to ", s.view.RestorePoint(),
                      " and loses what was written since");
}

/// The demotion is here and complete; whether it holds is not part of it.
bool Arrived(const PromoteSeen& s) {
  const MirrorView& view = s.view;
  return !view.PeerWentOn() && KeptInStep(view, Settle(s)) &&
         (DemotionArrived(view, Settle(s)) ||
          (OwnHalfDemotion(view) && ClaimingPeer(view) == nullptr));
}

bool AwaitsReport(const PromoteSeen& s) {
  return NeedsReport(s.view) && AwaitsReport(s.view, s.force, Settle(s));
}

/// A peer may hold what this site's own demotion hides.
bool OutOfStep(const PromoteSeen& s) {
  return !KeptInStep(s.view, Settle(s)) && !s.view.PeerWentOn() &&
         ClaimingPeer(s.view) == nullptr;
}

/// The demotion is here and complete, and a peer says that it is primary, or
/// went on.
bool TookBack(const PromoteSeen& s) {
  const MirrorSnapshot* newest = s.view.Newest();
  return newest != nullptr && newest->demoted() && newest->complete &&
         (ClaimingPeer(s.view) != nullptr || s.view.PeerWentOn());
}

/// For how long this site's rbd-mirror has not reported on the image, where it
/// is down; nullopt: it is not, or something else explains that.
std::optional<SteadyDuration> LocalMirrorDownFor(const PromoteSeen& s) {
  if (s.options.force_without_local_mirror ||
      s.clocks.evicted_for.has_value() || SilentForThePeer(Life(s))) {
    return std::nullopt;
  }
  const SteadyDuration silent =
      s.view.local.has_value() ? s.view.local->age : s.clocks.looked_for;
  if (silent < Settle(s)) return std::nullopt;
  return silent;
}

std::string DescribeLocalMirrorDown(const PromoteSeen& s,
                                    SteadyDuration silent) {
  const bool hangs = s.clocks.hangs;
  return absl::StrCat(
      "rbd-mirror of this site ", hangs ? "lives and hangs" : "is down",
      ": it has not reported on the image for at least ", WholeSeconds(silent),
      " s, so nothing can arrive; ", hangs ? "restart" : "start",
      " rbd-mirror here, or ", kByHand, " (", Loss(s), ")",
      s.clocks.daemons_unread.empty()
          ? ""
          : absl::StrCat("; or it lives and cannot reach the other "
                         "site, which it tells the manager only: ",
                         s.clocks.daemons_unread));
}

std::string DescribeNotYet(const PromoteSeen& s) {
  std::string reason = DescribeWait(s.view, Arrived(s), Settle(s), s.site_name);
  if (s.view.OneWay() &&
      (!s.interval.has_value() || s.view.info.mode == MirrorMode::kJournal)) {
    absl::StrAppend(&reason,
                    "; mirroring is one-way, so nothing here tells whether the "
                    "other site is alive: if it is dead, ",
                    kByHand, " (", Loss(s), ")");
  }
  return reason;
}

// --- of a primary

bool FollowersAre(const PromoteSeen& s, FollowerState state) {
  const auto verdict = FollowersOf(s);
  return verdict.has_value() && verdict->state == state;
}

/// Nobody was told that this site is primary. Who finds a primary with the note
/// of a mere demotion cannot know that: `rbd mirror image promote` leaves it.
bool MayYield(const PromoteSeen& s) {
  return !Forced(s) && s.view.own.demotion.has_value() &&
         s.view.own.demotion->step != OwnDemotionStep::kDemoted;
}

std::string FollowerName(const PromoteSeen& s) {
  const auto verdict = FollowersOf(s);
  return s.site_name(verdict.has_value() ? verdict->peer : "");
}

bool NewestIsIncomplete(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return view.info.mode != MirrorMode::kJournal && newest != nullptr &&
         newest->kind == MirrorSnapshotKind::kPrimary && !newest->complete;
}

// --- what time alone changes

/// It has been rewritten lately, and will be again.
bool Reports(const SiteView& site) { return site.age < kJustReported; }

MirrorView ViewLater(MirrorView view, SteadyDuration later) {
  for (SiteView& peer : view.peers) {
    if (!Reports(peer)) peer.age += later;
  }
  if (view.local.has_value() && !Reports(*view.local)) view.local->age += later;
  if (view.silent_peer_age.has_value()) *view.silent_peer_age += later;
  view.refused_demotion_age += later;
  view.quiet_for += later;
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

/// What is left to do of a primary, whose answer that does not change.
bool TidiesUp(Step step) {
  switch (step) {
    case Step::kSeeRelease:
    case Step::kMakeWritable:
    case Step::kRemoveHalfCopies:
    case Step::kRemoveRescue:
    case Step::kCompleteSnapshot:
    case Step::kForgetDemotion:
    case Step::kForgetResync:
    case Step::kCorrectImageId:
    case Step::kRememberClone:
    case Step::kKeepSchedule:
      return true;
    default:
      return false;
  }
}

constexpr Rule<PromoteSeen> kPromoteTable[] = {
    // --- whatever was asked
    {"role-lost",
     [](const PromoteSeen& s) -> Judged {
       if (!s.was_primary || s.view.info.primary) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           s.view.info.mode == MirrorMode::kJournal
               ? "this site was promoted and is not primary any more: "
                 "rbd-mirror has taken the role away again, for a site that "
                 "was promoted at the same moment, or somebody has demoted "
                 "it; start no workload here, and repeat the call"
               : "the image was demoted by somebody else meanwhile");
     }},
    {"disabling",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kDisabling) {
         return std::nullopt;
       }
       return Wait(kDisablingText);
     }},
    {"state-unknown",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.info.state != MirrorImageState::kUnknown) return std::nullopt;
       return Wait("this version does not know the state of replication");
     }},
    {"off",
     [](const PromoteSeen& s) -> Judged {
       if (s.view.enabled()) return std::nullopt;
       // In a group that is no reason to force the others.
       return Answer(s.scope == VerbScope::kGroupMember
                         ? StatusCode::kUnavailable
                         : StatusCode::kFailedPrecondition,
                     "replication is not enabled");
     }},

    // --- of a primary: what a promotion has left to do, also one that died
    {"release-unseen",
     [](const PromoteSeen& s) -> Judged {
       // By force: the copying was ended before.
       if (!s.view.info.primary || Forced(s) ||
           s.view.info.mode != MirrorMode::kJournal ||
           s.open_by_mirror.has_value()) {
         return std::nullopt;
       }
       return Do(Step::kSeeRelease);
     }},
    {"open-by-mirror",
     [](const PromoteSeen& s) -> Judged {
       // Another process has promoted it, or it was primary all along.
       const SteadyDuration primary_for =
           s.view.primary_for.value_or(s.open_for);
       if (!s.view.info.primary || !s.open_by_mirror.value_or(false) ||
           primary_for >= Settle(s)) {
         return std::nullopt;
       }
       return Next{Step::kAwaitRelease, StatusCode::kUnavailable,
                   "this site is primary, and rbd-mirror of this site still "
                   "has the image open: until it lets go, it may take the role "
                   "away again for a site that is promoted at the same moment; "
                   "start no workload before (up to a minute)"};
     }},
    {"half-copy-unsaved",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary ||
           UnsavedHalfCopy(s.view, s.rescue) == nullptr) {
         return std::nullopt;
       }
       return Do(Step::kSaveHalfCopy,
                 "its forced promotion is half-done; the last complete state "
                 "is saved first");
     }},
    {"refuses-writes",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.view.marked_non_primary) {
         return std::nullopt;
       }
       return Do(Step::kMakeWritable,
                 "it refuses writes, and is made writable");
     }},
    {"half-copies",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || HalfCopies(s.view).empty()) {
         return std::nullopt;
       }
       return Do(Step::kRemoveHalfCopies,
                 "a peer's snapshot that is not complete is removed");
     }},
    {"rescue-awaited",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.rescue.has_value() ||
           !AwaitsRestore(*s.rescue, s.view)) {
         return std::nullopt;
       }
       return Do(Step::kRestore,
                 "its forced promotion is half-done; whether the last complete "
                 "state can be brought back shows when it is promoted again");
     }},
    {"rescue-over",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.rescue.has_value()) return std::nullopt;
       return Do(Step::kRemoveRescue, "its rescue image is removed");
     }},
    {"newest-incomplete",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !NewestIsIncomplete(s.view) ||
           s.done.Of(Step::kCompleteSnapshot) > 0) {
         return std::nullopt;
       }
       return Do(Step::kCompleteSnapshot,
                 "its newest mirror snapshot is not complete, and "
                 "another one is made");
     }},
    {"peer-primary-too",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || MayYield(s) ||
           !FollowersAre(s, FollowerState::kTaken)) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("this site was promoted by ",
                        Forced(s) ? "force" : "another program",
                        " and is primary, but ", FollowerName(s),
                        " has said since that it is primary as well; stop the "
                        "workload on one of the two sites and demote it there, "
                        "then resync it"));
     }},
    {"yields-to-primary",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !FollowersAre(s, FollowerState::kTaken)) {
         return std::nullopt;
       }
       return Next{
           Step::kYield, StatusCode::kUnavailable,
           absl::StrCat(
               FollowerName(s),
               " was promoted while this site took its own demotion back")};
     }},
    {"follower-silent",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || Forced(s) ||
           !FollowersAre(s, FollowerState::kSilent)) {
         return std::nullopt;
       }
       // Whether it was promoted meanwhile is for a person, or an operator.
       return Answer(StatusCode::kFailedPrecondition,
                     absl::StrCat("this site has taken its own demotion back, "
                                  "and nothing is heard of ",
                                  FollowerName(s),
                                  ", which may have been promoted meanwhile; "
                                  "where it was not, force: nothing that was "
                                  "written here is lost by that"));
     }},
    {"yields-to-diverged",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !MayYield(s) ||
           !FollowersAre(s, FollowerState::kParted)) {
         return std::nullopt;
       }
       return Next{Step::kYield, StatusCode::kUnavailable,
                   absl::StrCat(FollowerName(s),
                                " reports a split brain since this site took "
                                "its own demotion back: it had gone on from "
                                "another content")};
     }},
    {"not-followed",
     [](const PromoteSeen& s) -> Judged {
       const auto verdict = FollowersOf(s);
       if (!s.view.info.primary || Forced(s) || !verdict.has_value() ||
           verdict->state == FollowerState::kFollow) {
         return std::nullopt;
       }
       return Next{
           Step::kAwaitFollowers, StatusCode::kUnavailable,
           absl::StrCat("this site has taken its own demotion back and waits "
                        "until ",
                        FollowerName(s),
                        " follows it; start no workload before (",
                        verdict->state == FollowerState::kParted
                            ? "it reports a split brain: resync its image "
                              "there, or, if the content there is the right "
                              "one, promote it there by force)"
                            : "up to a minute)")};
     }},
    {"demotion-over",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || (!s.view.own.demotion.has_value() &&
                                    !s.view.refused_demotion.has_value())) {
         return std::nullopt;
       }
       return Do(Step::kForgetDemotion);
     }},
    {"resync-request",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.view.resync_requested) {
         return std::nullopt;
       }
       return Do(Step::kForgetResync,
                 "a request to resync it, which would delete it "
                 "at the next demotion, is removed");
     }},
    {"image-id",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || !s.journal_image_id.has_value() ||
           *s.journal_image_id == s.view.image_id) {
         return std::nullopt;
       }
       return Do(Step::kCorrectImageId, "the journal's image id is corrected");
     }},
    {"clone",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || CloneMarkDue(s.view).empty()) {
         return std::nullopt;
       }
       return Do(Step::kRememberClone);
     }},
    {"schedule",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary || s.done.Of(Step::kKeepSchedule) > 0) {
         return std::nullopt;
       }
       return Do(Step::kKeepSchedule);
     }},
    {"primary",
     [](const PromoteSeen& s) -> Judged {
       if (!s.view.info.primary) return std::nullopt;
       return Answer(StatusCode::kOk, kIsPrimary);
     }},

    // --- of a secondary: what keeps everything but force from going on
    {"report-unknown",
     [](const PromoteSeen& s) -> Judged {
       std::string unclear = s.view.UnclearReport(Settle(s));
       if (Forced(s) || unclear.empty()) return std::nullopt;
       return Wait(std::move(unclear));
     }},
    {"note-unknown",
     [](const PromoteSeen& s) -> Judged {
       const auto& mark = s.view.own.demotion;
       if (Forced(s) || !mark.has_value() || !mark->unclear ||
           !s.view.LastDemotionIsOwn()) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(
           "a newer version noted why this site demoted itself, in a form that "
           "this one does not know; promote with that version, or ",
           kByHand));
     }},

    // --- nothing is lost
    {"demotion-here",
     [](const PromoteSeen& s) -> Judged {
       // The demotion may be one of yesterday that was taken back. Of that this
       // site's rbd-mirror would know; where it was this site's own, a report
       // of the peer tells.
       const bool told = Forced(s) || s.view.LastDemotionIsOwn() ||
                         LocalWordCounts(Life(s), s.options);
       if (!Arrived(s) || AwaitsReport(s) || !told) return std::nullopt;
       return Do(Step::kPromote,
                 s.view.LastDemotionIsOwn()
                     ? "this site takes its own demotion back, and nothing is "
                       "lost"
                     : "the other site's demotion is here and complete: "
                       "nothing is lost");
     }},
    {"demotion-here-unconfirmed",
     [](const PromoteSeen& s) -> Judged {
       if (!Forced(s) || !Arrived(s)) return std::nullopt;
       return Wait(DescribeWait(s.view, true, Settle(s), s.site_name));
     }},

    // --- by force. Judged twice: before the copying is ended, and for good
    // with a look after that
    {"rescue-begun",
     [](const PromoteSeen& s) -> Judged {
       if (!Forced(s) || !s.rescue.has_value() ||
           !AwaitsRestore(*s.rescue, s.view)) {
         return std::nullopt;
       }
       return Do(Step::kRescue, ReturnsTo(s));
     }},
    {"first-copy",
     [](const PromoteSeen& s) -> Judged {
       if (!Forced(s) || !s.view.first_copy_pending) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("the first copy of the image to this site is not "
                        "complete yet, so there is nothing to promote to",
                        s.view.local.has_value()
                            ? absl::StrCat("; rbd-mirror of this site says: ",
                                           s.view.local->status.description)
                            : ""));
     }},
    {"nothing-complete",
     [](const PromoteSeen& s) -> Judged {
       const bool none =
           (InMidCopy(s.view) && RescueSnapshot(s.view) == nullptr) ||
           (s.view.info.mode != MirrorMode::kJournal &&
            s.view.LastComplete() == nullptr);
       if (!Forced(s) || !none) return std::nullopt;
       return Answer(
           StatusCode::kUnavailable,
           absl::StrCat("no snapshot has arrived completely on this site, so "
                        "there is nothing to promote to; ",
                        s.view.CopyProgress()));
     }},
    {"complete-copy",
     [](const PromoteSeen& s) -> Judged {
       if (!Forced(s) || InMidCopy(s.view)) return std::nullopt;
       return Do(Step::kPromoteByForce, ReturnsTo(s));
     }},
    {"user-snapshot-in-mid-copy",
     [](const PromoteSeen& s) -> Judged {
       const ImageSnapshot* snapshot = UserSnapshotInMidCopy(s.view);
       if (!Forced(s) || snapshot == nullptr) return std::nullopt;
       return Answer(StatusCode::kUnavailable,
                     DescribeUserSnapshotInMidCopy(*snapshot));
     }},
    {"mid-copy",
     [](const PromoteSeen& s) -> Judged {
       // A forced promote of librbd 16 is no way out of half a copy: measured,
       // it rolls an ordinary one back to the state before the last whole one
       // (to zeros, when only the first copy was whole), and a demotion not at
       // all.
       if (!Forced(s)) return std::nullopt;
       return Do(Step::kRescue, ReturnsTo(s));
     }},

    // --- without force
    {"out-of-step-dead",
     [](const PromoteSeen& s) -> Judged {
       if (!OutOfStep(s) || !Dead(s)) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat(DescribeOutOfStep(s.view, s.site_name),
                        "; and now there is no sign of life (",
                        DescribeDeath(Life(s), s.site_name), "); ", Loss(s)));
     }},
    {"out-of-step",
     [](const PromoteSeen& s) -> Judged {
       if (!OutOfStep(s)) return std::nullopt;
       return Wait(absl::StrCat(
           DescribeOutOfStep(s.view, s.site_name),
           "; where it was not, rbd-mirror there copies the demotion within a "
           "minute; where it was, or does not, promote that site, resync this "
           "image and move again; or ",
           kByHand, " (", Loss(s), ")"));
     }},
    {"claim-may-be-denied",
     [](const PromoteSeen& s) -> Judged {
       const SiteView* peer = ClaimingPeer(s.view);
       if (!TookBack(s) || !Dead(s) || peer == nullptr ||
           !MayYetBeDenied(*peer, s.view)) {
         return std::nullopt;
       }
       return Wait(
           absl::StrCat("the demotion has arrived; the last report of ",
                        s.site_name(peer->status.mirror_uuid),
                        " says that its image is primary, and rbd-mirror of "
                        "this site is about to tell whether that still holds "
                        "(up to a minute)"));
     }},
    {"peer-took-role-back",
     [](const PromoteSeen& s) -> Judged {
       if (!TookBack(s) || !Dead(s)) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat(
               s.view.PeerWentOn()
                   ? "this site gave the role back to a peer that was primary "
                     "and is silent now ("
                   : "the demotion has arrived, but the peer claimed to be "
                     "primary after it and is silent now (",
               DescribeDeath(Life(s), s.site_name), "); ", Loss(s)));
     }},
    {"diverged",
     [](const PromoteSeen& s) -> Judged {
       // Time alone makes no wrong copy right.
       if ((!s.view.PeerWentOn() && !s.view.SplitBrain()) || Dead(s)) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(DescribeWhyPeerWentOn(s.view), "; or ", kByHand,
                                " (", Loss(s), ")"));
     }},
    {"local-mirror-down",
     [](const PromoteSeen& s) -> Judged {
       // Nothing that is known here of the peer is about now.
       const std::optional<SteadyDuration> silent = LocalMirrorDownFor(s);
       if (!silent.has_value()) return std::nullopt;
       return Wait(DescribeLocalMirrorDown(s, *silent));
     }},
    {"peer-primary",
     [](const PromoteSeen& s) -> Judged {
       const std::optional<std::string> primary =
           PrimaryPeer(s.view, Settle(s));
       if (!primary.has_value() || RefusalStands(s.view) ||
           !CopyFollows(Life(s), s.options) ||
           SomethingArrives(s.view, Settle(s)) ||
           s.clocks.peer_primary_for < s.options.takeover_time ||
           s.clocks.image_primary_for < Settle(s)) {
         return std::nullopt;
       }
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat(s.site_name(*primary), " has been primary for ",
                        WholeSeconds(s.clocks.peer_primary_for),
                        " s while calls were waiting; demote it "
                        "there, or force: ",
                        Loss(s)));
     }},
    {"workload-on-peer",
     [](const PromoteSeen& s) -> Judged {
       // A workload that writes there, where only rbd-mirror is down, sends
       // nothing. Its site is dead when it tells nothing for as long as the
       // note counts.
       if (!RefusalStands(s.view)) return std::nullopt;
       return Wait(DescribeRefusedDemotion(*s.view.refused_demotion));
     }},
    {"no-sign-of-life",
     [](const PromoteSeen& s) -> Judged {
       if (!Dead(s)) return std::nullopt;
       return Answer(
           StatusCode::kFailedPrecondition,
           absl::StrCat(Arrived(s)
                            ? "the demotion is here, and nobody tells whether "
                              "the other side was promoted since: "
                            : "",
                        "no sign of life from the other side: ",
                        DescribeDeath(Life(s), s.site_name), "; ", Loss(s)));
     }},
    {"not-yet",
     [](const PromoteSeen& s) -> Judged { return Wait(DescribeNotYet(s)); }},
};

}  // namespace

bool NeedsClocks(const MirrorView& view, Force force) {
  return force == Force::kNo && view.enabled() && !view.info.primary;
}

PromoteSeries::Seen SeenInSeries(const MirrorView& view,
                                 const std::string& rados_namespace,
                                 bool disturbed,
                                 const ReplicationOptions& options) {
  PromoteSeries::Seen seen;
  seen.pool = view.pool_key;
  seen.rados_namespace = rados_namespace;
  seen.image = view.timeline_key;
  seen.progress = view.Progress();
  seen.receiving = !disturbed && LocalMirrorWorks(view, options);
  seen.primary_peer = PrimaryPeer(view, options.settle_time);
  seen.copy = CopyState(view, options);
  return seen;
}

std::optional<FollowerVerdict> FollowersOf(const PromoteSeen& seen) {
  const auto& mark = seen.view.own.demotion;
  // A forced promotion that died may have left the note of an earlier demotion:
  // whoever forces this site again has decided about it.
  const bool retried =
      mark.has_value() && !seen.begun &&
      (!Forced(seen) || mark->step != OwnDemotionStep::kDemoted);
  if (!seen.took_back && !retried) return std::nullopt;
  return JudgeFollowers(seen.view, Settle(seen));
}

absl::Span<const Rule<PromoteSeen>> PromoteTable() { return kPromoteTable; }

Next DecidePromote(const PromoteSeen& seen, absl::string_view without) {
  return FirstOf(PromoteTable(), seen, without);
}

std::optional<std::chrono::seconds> ForcibleIn(
    const PromoteSeen& seen, std::optional<std::chrono::seconds> known) {
  // What arrives may go on with that, and each time begins the clocks anew.
  constexpr std::chrono::seconds kAtOnce{10};
  const SeriesClocks& clocks = seen.clocks;
  if (Forced(seen) || (clocks.looked_for - clocks.quiet_for > kAtOnce &&
                       clocks.quiet_for < kJustReported)) {
    return std::nullopt;
  }
  // To read a name costs an operation.
  const SiteNameFn no_names = [](const std::string&) { return std::string(); };
  const auto forcible = [&](std::chrono::seconds later) {
    const MirrorView view = ViewLater(seen.view, later);
    PromoteSeen then{.view = view,
                     .rescue = seen.rescue,
                     .options = seen.options,
                     .site_name = no_names,
                     .force = seen.force,
                     .scope = seen.scope};
    then.clocks = ClocksLater(clocks, later);
    then.disturbed = seen.disturbed;
    then.interval = seen.interval;
    const Next next = DecidePromote(then);
    return next.answers() && next.code == StatusCode::kFailedPrecondition;
  };
  if (known.has_value() && *known > kForcibleStep && forcible(*known) &&
      !forcible(*known - kForcibleStep)) {
    return known;
  }
  // Not by halves: one row may take the place of another before its time.
  const SteadyDuration longest =
      std::max(2 * seen.options.settle_time, seen.options.takeover_time);
  for (std::chrono::seconds in{0}; in <= longest + kForcibleStep;
       in += kForcibleStep) {
    if (forcible(in)) return in;
  }
  return std::nullopt;
}

Next ForecastPromote(const PromoteSeen& seen) {
  std::string left;
  for (const Rule<PromoteSeen>& row : kPromoteTable) {
    std::optional<Next> next = row.judge(seen);
    if (!next.has_value()) continue;
    next->row = row.name;
    if (TidiesUp(next->step)) {
      if (!next->reason.empty()) absl::StrAppend(&left, "; ", next->reason);
      continue;
    }
    if (next->answers() && next->code == StatusCode::kOk) {
      next->reason += left;
    }
    return *std::move(next);
  }
  return DecidePromote(seen);
}

}  // namespace addons
