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

/// Asked twice: before the copying is ended for the promotion, and for good
/// with a look after that.
PromoteDecision DecideForced(const MirrorView& view,
                             const std::optional<RescueRecord>& rescue) {
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    return {PromoteAction::kRescue, ""};
  }
  if (view.first_copy_pending) {
    return {PromoteAction::kNothingToForce,
            absl::StrCat("the first copy of the image to this site is not "
                         "complete yet, so there is nothing to promote to",
                         view.local.has_value()
                             ? absl::StrCat("; rbd-mirror of this site says: ",
                                            view.local->status.description)
                             : "")};
  }
  const bool mid_copy = InMidCopy(view);
  if ((mid_copy && RescueSnapshot(view) == nullptr) ||
      (view.info.mode != MirrorMode::kJournal &&
       view.LastComplete() == nullptr)) {
    return {PromoteAction::kNothingToForce,
            absl::StrCat(
                "no snapshot has arrived completely on this site, so there "
                "is nothing to promote to; ",
                view.CopyProgress())};
  }
  if (!mid_copy) return {PromoteAction::kForced, ""};
  if (const ImageSnapshot* snapshot = UserSnapshotInMidCopy(view);
      snapshot != nullptr) {
    return {PromoteAction::kNothingToForce,
            DescribeUserSnapshotInMidCopy(*snapshot)};
  }
  // A forced promote of librbd 16 is no way out of half a copy: measured, it
  // rolls an ordinary one back to the state before the last whole one (to
  // zeros, when only the first copy was whole), and a demotion not at all.
  return {PromoteAction::kRescue, ""};
}

/// Of a view without KeptInStep(). `loss` is what forcing loses.
PromoteDecision DecideOutOfStep(const LifeEvidence& life, bool dead,
                                const std::string& loss,
                                const SiteNameFn& site_name) {
  const std::string reason = DescribeOutOfStep(life.view, site_name);
  if (dead) {
    return {PromoteAction::kRefuseNoLife,
            absl::StrCat(reason, "; and now there is no sign of life (",
                         DescribeDeath(life, site_name), "); ", loss)};
  }
  return {
      PromoteAction::kWait,
      absl::StrCat(reason,
                   "; where it was not, rbd-mirror there copies the demotion "
                   "within a minute; where it was, or does not, promote that "
                   "site, resync this image and move again; or ",
                   kByHand, " (", loss, ")")};
}

/// For how long this site's rbd-mirror has not reported on the image, where it
/// is down; nullopt: it is not, or something else explains that.
std::optional<SteadyDuration> DeafFor(const LifeEvidence& life,
                                      const ReplicationOptions& options) {
  if (options.force_without_local_mirror ||
      life.clocks.evicted_for.has_value() || SilentForThePeer(life)) {
    return std::nullopt;
  }
  const SteadyDuration silent = life.view.local.has_value()
                                    ? life.view.local->age
                                    : life.clocks.looked_for;
  if (silent < options.settle_time) return std::nullopt;
  return silent;
}

/// The demotion has arrived whole, and the other side is dead, which keeps it
/// from counting; nullopt: that is not what a peer's claim explains.
std::optional<PromoteDecision> DecideTookBack(const LifeEvidence& life,
                                              const std::string& loss,
                                              const SiteNameFn& site_name) {
  const MirrorView& view = life.view;
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr || !newest->demoted() || !newest->complete) {
    return std::nullopt;
  }
  const SiteView* peer = ClaimingPeer(view);
  if (peer == nullptr && !view.PeerWentOn()) return std::nullopt;
  if (peer != nullptr && MayYetBeDenied(*peer, view)) {
    return PromoteDecision{
        PromoteAction::kWait,
        absl::StrCat("the demotion has arrived; the last report of ",
                     site_name(peer->status.mirror_uuid),
                     " says that its image is primary, and rbd-mirror of "
                     "this site is about to tell whether that still "
                     "holds (up to a minute)")};
  }
  return PromoteDecision{
      PromoteAction::kRefusePeerTookBack,
      absl::StrCat(view.PeerWentOn()
                       ? "this site gave the role back to a peer that "
                         "was primary and is silent now ("
                       : "the demotion has arrived, but the peer claimed "
                         "to be primary after it and is silent now (",
                   DescribeDeath(life, site_name), "); ", loss)};
}

/// The rows of a call without force, where no plain promotion is right.
/// `arrived`: the demotion is here whole, and it is not known that it holds.
PromoteDecision DecideUnforced(const PromoteEvidence& seen, bool arrived,
                               const ReplicationOptions& options,
                               const SiteNameFn& site_name) {
  const MirrorView& view = seen.view;
  const SteadyDuration settle = options.settle_time;
  const LifeEvidence life{view, seen.clocks, seen.disturbed, seen.interval};
  const bool dead = NoSignOfLife(life, options);
  const std::string loss =
      absl::StrCat("forcing returns to ", view.RestorePoint(),
                   " and loses what was written since");
  if (!KeptInStep(view, settle) && !view.PeerWentOn() &&
      ClaimingPeer(view) == nullptr) {
    return DecideOutOfStep(life, dead, loss, site_name);
  }
  if (dead) {
    if (auto took_back = DecideTookBack(life, loss, site_name);
        took_back.has_value()) {
      return *std::move(took_back);
    }
  }
  // Time alone makes no wrong copy right.
  if ((view.PeerWentOn() || view.SplitBrain()) && !dead) {
    return {PromoteAction::kWait,
            absl::StrCat(DescribeWhyPeerWentOn(view), "; or ", kByHand, " (",
                         loss, ")")};
  }
  // Nothing that is known here of the peer is about now.
  if (const std::optional<SteadyDuration> silent = DeafFor(life, options);
      silent.has_value()) {
    const bool hangs = seen.clocks.hangs;
    return {
        PromoteAction::kWaitForLocalMirror,
        absl::StrCat(
            "rbd-mirror of this site ", hangs ? "lives and hangs" : "is down",
            ": it has not reported on the image for at least ",
            WholeSeconds(*silent), " s, so nothing can arrive; ",
            hangs ? "restart" : "start", " rbd-mirror here, or ", kByHand, " (",
            loss, ")",
            seen.clocks.daemons_unread.empty()
                ? ""
                : absl::StrCat("; or it lives and cannot reach the other "
                               "site, which it tells the manager only: ",
                               seen.clocks.daemons_unread))};
  }
  const bool refused = RefusalStands(view);
  const std::optional<std::string> primary = PrimaryPeer(view, settle);
  if (primary.has_value() && !refused && CopyFollows(life, options) &&
      !SomethingArrives(view, settle) &&
      seen.clocks.peer_primary_for >= options.takeover_time &&
      seen.clocks.image_primary_for >= settle) {
    return {PromoteAction::kRefusePeerPrimary,
            absl::StrCat(site_name(*primary), " has been primary for ",
                         WholeSeconds(seen.clocks.peer_primary_for),
                         " s while calls were waiting; demote it there, or "
                         "force: ",
                         loss)};
  }
  // A workload that writes there, where only rbd-mirror is down, sends nothing.
  // Its site is dead when it tells nothing for as long as the note counts.
  if (refused) {
    return {PromoteAction::kWaitForWorkload,
            DescribeRefusedDemotion(*view.refused_demotion)};
  }
  if (dead) {
    return {PromoteAction::kRefuseNoLife,
            absl::StrCat(
                arrived ? "the demotion is here, and nobody tells whether the "
                          "other side was promoted since: "
                        : "",
                "no sign of life from the other side: ",
                DescribeDeath(life, site_name), "; ", loss)};
  }
  std::string reason = DescribeWait(view, arrived, settle, site_name);
  if (view.OneWay() &&
      (!seen.interval.has_value() || view.info.mode == MirrorMode::kJournal)) {
    absl::StrAppend(&reason,
                    "; mirroring is one-way, so nothing here tells whether the "
                    "other site is alive: if it is dead, ",
                    kByHand, " (", loss, ")");
  }
  return {PromoteAction::kWait, std::move(reason)};
}

}  // namespace

absl::StatusCode AnswerTo(PromoteAction action, VerbScope scope) {
  switch (action) {
    case PromoteAction::kRefuseOff:
      return scope == VerbScope::kGroupMember
                 ? absl::StatusCode::kUnavailable
                 : absl::StatusCode::kFailedPrecondition;
    case PromoteAction::kRefusePeerTookBack:
    case PromoteAction::kRefusePeerPrimary:
    case PromoteAction::kRefuseNoLife:
      return absl::StatusCode::kFailedPrecondition;
    case PromoteAction::kNothingToForce:
    case PromoteAction::kWaitForWorkload:
    case PromoteAction::kWaitForLocalMirror:
    case PromoteAction::kWait:
      return absl::StatusCode::kUnavailable;
    case PromoteAction::kAlreadyPrimary:
    case PromoteAction::kPlain:
    case PromoteAction::kForced:
    case PromoteAction::kRescue:
      break;
  }
  return absl::StatusCode::kOk;
}

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

PromoteDecision DecidePromote(const PromoteEvidence& seen, Force force,
                              const ReplicationOptions& options,
                              const SiteNameFn& site_name) {
  const MirrorView& view = seen.view;
  if (view.info.state == MirrorImageState::kDisabling) {
    return {PromoteAction::kWait, kDisablingText};
  }
  if (view.info.state == MirrorImageState::kUnknown) {
    return {PromoteAction::kWait,
            "this version does not know the state of replication"};
  }
  if (!view.enabled()) {
    return {PromoteAction::kRefuseOff, "replication is not enabled"};
  }
  if (view.info.primary) return {PromoteAction::kAlreadyPrimary, ""};
  if (std::string unclear = view.UnclearReport(options.settle_time);
      force == Force::kNo && !unclear.empty()) {
    return {PromoteAction::kWait, std::move(unclear)};
  }
  if (force == Force::kNo && view.own.demotion.has_value() &&
      view.own.demotion->unclear && view.LastDemotionIsOwn()) {
    return {PromoteAction::kWait,
            absl::StrCat("a newer version noted why this site demoted itself, "
                         "in a form that this one does not know; promote with "
                         "that version, or ",
                         kByHand)};
  }
  const bool arrived =
      !view.PeerWentOn() && KeptInStep(view, options.settle_time) &&
      (DemotionArrived(view, options.settle_time) ||
       (OwnHalfDemotion(view) && ClaimingPeer(view) == nullptr));
  const bool awaits_report =
      NeedsReport(view) && AwaitsReport(view, force, options.settle_time);
  if (force == Force::kYes) {
    if (!arrived) return DecideForced(view, seen.rescue);
    if (!awaits_report) return {PromoteAction::kPlain, ""};
    return {PromoteAction::kWait,
            DescribeWait(view, arrived, options.settle_time, site_name)};
  }
  // The demotion may be one of yesterday that was taken back. Of that this
  // site's rbd-mirror would know; where it was this site's own, a report of the
  // peer tells.
  const LifeEvidence life{view, seen.clocks, seen.disturbed, seen.interval};
  if (arrived && !awaits_report &&
      (view.LastDemotionIsOwn() || LocalWordCounts(life, options))) {
    return {PromoteAction::kPlain, ""};
  }
  return DecideUnforced(seen, arrived, options, site_name);
}

}  // namespace addons
