#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/decide/promote_rows.h"
#include "replication/look/move_marks.h"
#include "replication/look/peers.h"
#include "replication/look/rollback_mark.h"

namespace addons {
namespace {

using absl::StatusCode;

bool Dead(const PromoteSeen& s) { return NoSignOfLife(Life(s), s.options); }

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

bool AwaitsReport(const PromoteSeen& s) {
  return NeedsReport(s.view) && AwaitsReport(s.view, s.force, Settle(s));
}

/// The demotion is here, and holds. It may be one of yesterday that was taken
/// back: of that this site's rbd-mirror would know; where it was this site's
/// own, a report of the peer tells.
bool NothingIsLost(const PromoteSeen& s) {
  return Arrived(s) && !AwaitsReport(s) &&
         (Forced(s) || s.view.LastDemotionIsOwn() ||
          LocalWordCounts(Life(s), s.options));
}

/// A peer may hold what this site's own demotion hides.
bool OutOfStep(const PromoteSeen& s) {
  return !PeerInSync(s.view, Settle(s)) && !s.view.PeerDiverged() &&
         ClaimingPeer(s.view) == nullptr;
}

/// The demotion is here and complete, and a peer says that it is primary, or
/// went on.
bool TookBack(const PromoteSeen& s) {
  const MirrorSnapshot* newest = s.view.Newest();
  return newest != nullptr && newest->demoted() && newest->complete &&
         (ClaimingPeer(s.view) != nullptr || s.view.PeerDiverged());
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

/// The newest snapshot, where rbd-mirror of this site has said since it was
/// made that the peer's image is not primary: it goes on with no copy then.
const MirrorSnapshot* NewestGivenUp(const PromoteSeen& s) {
  const MirrorSnapshot* newest = s.view.Newest();
  return s.view.info.mode == MirrorMode::kSnapshot && newest != nullptr &&
                 DeniedSince(s.view, newest->created)
             ? newest
             : nullptr;
}

/// The copy of a demotion that is not complete, see demotion_copy.h.
const MirrorSnapshot* HalfDemotionGivenUp(const PromoteSeen& s) {
  const MirrorSnapshot* newest = NewestGivenUp(s);
  return newest != nullptr && !newest->complete &&
                 newest->kind == MirrorSnapshotKind::kNonPrimaryDemoted
             ? newest
             : nullptr;
}

/// It was made the copy of an ordinary snapshot, and is complete. rbd-mirror
/// notes no peers of an ordinary one (16.2.15 to 20.2.4).
bool ResumedDemotionIsHere(const PromoteSeen& s) {
  const MirrorSnapshot* newest = NewestGivenUp(s);
  return newest != nullptr && newest->complete && newest->lists_peers &&
         newest->kind == MirrorSnapshotKind::kNonPrimary;
}

constexpr Rule<PromoteSeen> kRowsOfSecondary[] = {
    // --- of a secondary: what was asked for is not possible
    {"point-not-here",
     [](const PromoteSeen& s) -> Judged {
       if (s.restore_point.empty()) return std::nullopt;
       // A demotion that is still to come may bring it.
       std::string why = WhyNoPoints(s);
       if (why.empty() && (Forced(s) || Arrived(s))) why = WhyNotToPoint(s);
       if (why.empty()) return std::nullopt;
       return Answer(StatusCode::kInvalidArgument, std::move(why));
     }},

    // --- what keeps everything but force from going on
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

    {"marked-copy-went-on",
     [](const PromoteSeen& s) -> Judged {
       if (!MarkedCopyWentOn(s.rescue, s.view)) return std::nullopt;
       return Answer(StatusCode::kUnavailable, kMarkedCopyWentOn);
     }},

    {"copy-damaged",
     [](const PromoteSeen& s) -> Judged {
       if (Forced(s) || s.view.proof.whole() || !NothingIsLost(s)) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(
           "the demotion is here, and this copy is ",
           DescribeProof(s.view.proof),
           ": promote the other site again, have the image copied anew here "
           "(`rbd mirror image resync`), and move again; or ",
           kByHand, ", which keeps what is damaged"));
     }},
    {"rollback-copied",
     [](const PromoteSeen& s) -> Judged {
       const auto rollback = ReadRollbackMark(s.view);
       // Who takes its own demotion back goes on with it, as who asks for it.
       // One that is noted here alone has changed nothing.
       if (Forced(s) || !rollback.has_value() || !NothingIsLost(s) ||
           s.view.LastDemotionIsOwn() || !s.restore_point.empty() ||
           rollback->untouched) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(
           "the demotion is here, and ", DescribeRollback(*rollback),
           ". Promote the other site again and go on there; or ", kByHand,
           ", and go on here"));
     }},

    // --- nothing is lost
    {"demotion-here",
     [](const PromoteSeen& s) -> Judged {
       if (!NothingIsLost(s)) return std::nullopt;
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
       return Wait(DescribeWait(s, true));
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
       // Of a clone what the state before had from its parent is not known.
       if (!Forced(s) || snapshot == nullptr || !s.view.parent.has_value()) {
         return std::nullopt;
       }
       return Answer(StatusCode::kUnavailable,
                     absl::StrCat(DescribeUserSnapshotInMidCopy(*snapshot),
                                  "; of a clone the state before cannot be "
                                  "brought back"));
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
               s.view.PeerDiverged()
                   ? "this site gave the role back to a peer that was primary "
                     "and is silent now ("
                   : "the demotion has arrived, but the peer claimed to be "
                     "primary after it and is silent now (",
               DescribeDeath(Life(s), s.site_name), "); ", Loss(s)));
     }},
    {"diverged",
     [](const PromoteSeen& s) -> Judged {
       // Time alone makes no wrong copy right.
       if ((!s.view.PeerDiverged() && !s.view.SplitBrain()) || Dead(s)) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(DescribeWhyDiverged(s.view), "; or ", kByHand,
                                " (", Loss(s), ")"));
     }},
    {"local-mirror-down",
     [](const PromoteSeen& s) -> Judged {
       // Nothing that is known here of the peer is about now.
       const std::optional<SteadyDuration> silent = LocalMirrorDownFor(s);
       if (!silent.has_value()) return std::nullopt;
       return Wait(DescribeLocalMirrorDown(s, *silent));
     }},
    {kPeerPrimaryRow,
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
       std::string reason = DescribeRefusedDemotion(*s.view.refused_demotion);
       if (!s.view.AnyFreshPeer(Settle(s))) {
         absl::StrAppend(&reason, "; where that site is dead, ", kByHand, " (",
                         Loss(s), ")");
       }
       return Wait(std::move(reason));
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
    {"demotion-given-up",
     [](const PromoteSeen& s) -> Judged {
       // One-way: nothing would show later that it was a demotion. (Where no
       // object is noted as copied, rbd-mirror makes the snapshot anew.)
       const MirrorSnapshot* half = HalfDemotionGivenUp(s);
       if (half == nullptr || half->lists_peers ||
           half->last_copied_object <= 1) {
         return std::nullopt;
       }
       return Wait(absl::StrCat(
           DescribeNotYet(s),
           "; rbd-mirror of this site has given it up, and does not go on with "
           "it by itself: promote the image on the other site, and demote it "
           "there again"));
     }},
    {"demotion-to-resume",
     [](const PromoteSeen& s) -> Judged {
       if (HalfDemotionGivenUp(s) == nullptr && !ResumedDemotionIsHere(s)) {
         return std::nullopt;
       }
       return Next{Step::kResumeDemotionCopy, StatusCode::kUnavailable,
                   DescribeNotYet(s)};
     }},
    {"not-yet",
     [](const PromoteSeen& s) -> Judged { return Wait(DescribeNotYet(s)); }},
};

}  // namespace

/// The demotion is here and complete; whether it holds is not part of it.
bool Arrived(const PromoteSeen& s) {
  const MirrorView& view = s.view;
  return !view.PeerDiverged() && PeerInSync(view, Settle(s)) &&
         (DemotionArrived(view, Settle(s)) ||
          (OwnHalfDemotion(view) && ClaimingPeer(view) == nullptr));
}

absl::Span<const Rule<PromoteSeen>> RowsOfSecondary() {
  return kRowsOfSecondary;
}

}  // namespace addons
