#include "replication/promote_decision.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons {
namespace {

int64_t Seconds(SteadyDuration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

/// A fresh claim of the peer to be primary is older than the demotion if it was
/// written before its copy began here and the local rbd-mirror has found the
/// peer's image not primary since. All three stamps are this cluster's.
bool ClaimIsOutdated(const SiteView& peer, const MirrorView& view,
                     const MirrorSnapshot& demotion) {
  const int64_t arrived =
      std::chrono::system_clock::to_time_t(demotion.created);
  return peer.status.last_update < arrived && view.LocalDaemonUp() &&
         view.local->role == SiteRole::kNotPrimary &&
         view.local->status.last_update >= arrived;
}

/// This site demoted itself, but that snapshot never became whole (the daemon
/// or the cluster died meanwhile), and nobody has taken over. The data is ours.
bool OwnHalfDemotion(const MirrorView& view) {
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr &&
         newest->kind == MirrorSnapshotKind::kPrimaryDemoted &&
         !newest->complete &&
         std::none_of(view.peers.begin(), view.peers.end(),
                      [](const SiteView& peer) {
                        return peer.role == SiteRole::kPrimary;
                      });
}

/// A copy that is not whole will not be completed by itself: its source shows
/// no sign of life, or nothing of it has arrived for the settle time.
bool CopyHasEnded(const MirrorView& view, bool disturbed,
                  const ReplicationOptions& options) {
  return !disturbed &&
         (NoSignOfLife(view, options) || view.quiet_for >= options.settle_time);
}

/// The last demotion was this site's own, so nothing of a peer had to arrive:
/// only a report that was written after the call began tells that no peer has
/// become primary in between.
bool AwaitsReport(const MirrorView& view, const MirrorView* first_look,
                  SteadyDuration settle) {
  return std::any_of(
      view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
        if (peer.age >= settle) return false;  // nobody who could report
        if (first_look == nullptr) return true;
        return std::any_of(
            first_look->peers.begin(), first_look->peers.end(),
            [&](const SiteView& before) {
              return before.status.mirror_uuid == peer.status.mirror_uuid &&
                     before.status.last_update == peer.status.last_update;
            });
      });
}

std::string DescribeDeath(
    const MirrorView& view,
    const std::function<std::string(const std::string&)>& site_name) {
  std::vector<std::string> dead;
  for (const SiteView& peer : view.peers) {
    dead.push_back(absl::StrCat(
        "rbd-mirror of ", site_name(peer.status.mirror_uuid),
        " has not reported for at least ", Seconds(peer.age), " s"));
  }
  if (view.silent_peer_age.has_value()) {
    dead.push_back(absl::StrCat(
        "rbd-mirror of the peer site has never reported on this image, also "
        "not in the last ",
        Seconds(*view.silent_peer_age), " s"));
  } else if (view.peers.empty()) {
    dead.emplace_back("no peer has ever reported");
  }
  if (!view.LocalDaemonUp()) {
    dead.emplace_back("rbd-mirror of this site is down");
  }
  return absl::StrJoin(dead, ", ");
}

std::string DescribeWait(
    const MirrorView& view, SteadyDuration settle,
    const std::function<std::string(const std::string&)>& site_name) {
  const std::string progress = view.CopyProgress();
  std::string reason;
  const MirrorSnapshot* newest = view.Newest();
  if (const SiteView* peer = view.FreshPeer(SiteRole::kPrimary, settle);
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
  if (!view.LocalDaemonUp()) {
    absl::StrAppend(&reason,
                    "; rbd-mirror of this site is down or has not reported, "
                    "nothing can arrive until it runs");
  }
  return reason;
}

}  // namespace

bool DemotionArrived(const MirrorView& view, SteadyDuration settle) {
  const bool claimed = view.FreshPeer(SiteRole::kPrimary, settle) != nullptr;
  if (view.info.mode == MirrorMode::kJournal) {
    // In journal mode the demotion is an event of the journal itself, and
    // librbd refuses to promote before it was replayed. What remains to be seen
    // is that nobody claims the image, and that somebody said so.
    const bool local_says =
        view.LocalDaemonUp() && view.local->role == SiteRole::kNotPrimary;
    return !claimed && (local_says || view.FreshPeer(SiteRole::kNotPrimary,
                                                     settle) != nullptr);
  }
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr || !newest->demoted() || !newest->complete)
    return false;
  return std::all_of(
      view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
        return peer.role != SiteRole::kPrimary || peer.age >= settle ||
               ClaimIsOutdated(peer, view, *newest);
      });
}

bool NoSignOfLife(const MirrorView& view, const ReplicationOptions& options) {
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

namespace {

PromoteDecision DecideForced(const MirrorView& view,
                             const std::optional<RescueRecord>& rescue,
                             bool disturbed,
                             const ReplicationOptions& options) {
  if (rescue.has_value() && AwaitsRestore(*rescue, view)) {
    return {PromoteAction::kRescue, ""};
  }
  const bool mid_copy = InMidCopy(view);
  if ((mid_copy && RescueSnapshot(view) == nullptr) ||
      (view.info.mode != MirrorMode::kJournal &&
       view.LastComplete() == nullptr)) {
    return {PromoteAction::kNothingToForce,
            absl::StrCat("no snapshot has arrived whole on this site, so there "
                         "is nothing to promote to; ",
                         view.CopyProgress())};
  }
  if (!mid_copy) return {PromoteAction::kForced, ""};
  // A forced promote of librbd 16 is no way out of half a copy: measured, it
  // rolls an ordinary one back to the state before the last whole one (to
  // zeros, when only the first copy was whole), and a demotion not at all.
  if (CopyHasEnded(view, disturbed, options)) {
    return {PromoteAction::kRescue, ""};
  }
  return {PromoteAction::kWait,
          absl::StrCat("a snapshot has arrived in part (", view.CopyProgress(),
                       "); the promotion goes on when it is whole, or returns "
                       "to the last whole state once the other site shows no "
                       "sign of life or nothing has arrived for ",
                       Seconds(options.settle_time), " s")};
}

}  // namespace

PromoteDecision DecidePromote(
    const MirrorView& view, const MirrorView* first_look,
    const std::optional<RescueRecord>& rescue, Force force, bool disturbed,
    PeerTracker& tracker, const ReplicationOptions& options,
    const std::function<std::string(const std::string&)>& site_name) {
  const SteadyDuration settle = options.settle_time;
  if (view.info.state == MirrorImageState::kDisabling) {
    return {PromoteAction::kWait, "replication is being disabled"};
  }
  if (!view.enabled()) {
    return {PromoteAction::kRefuseOff, "replication is not enabled"};
  }
  if (view.info.primary) return {PromoteAction::kAlreadyPrimary, ""};
  const bool own_demotion =
      view.Newest() != nullptr &&
      view.Newest()->kind == MirrorSnapshotKind::kPrimaryDemoted;
  if (force == Force::kNo && own_demotion &&
      AwaitsReport(view, first_look, settle)) {
    return {PromoteAction::kWait,
            "this site demoted itself; waiting for the peer's next report, "
            "which tells whether it has taken over (up to half a minute)"};
  }
  if (DemotionArrived(view, settle) || OwnHalfDemotion(view)) {
    return {PromoteAction::kPlain, ""};
  }
  if (force == Force::kYes) {
    return DecideForced(view, rescue, disturbed, options);
  }

  const MirrorSnapshot* newest = view.Newest();
  const SiteView* primary = view.FreshPeer(SiteRole::kPrimary, settle);
  if (primary != nullptr && (newest == nullptr || !newest->demoted())) {
    const SteadyDuration since = tracker.PeerPrimaryFor(
        view.tracker_key,
        absl::StrCat(newest == nullptr ? "none" : Name(newest->kind), "/",
                     primary->status.mirror_uuid));
    if (since >= settle) {
      return {PromoteAction::kRefusePeerPrimary,
              absl::StrCat(
                  site_name(primary->status.mirror_uuid),
                  " has been primary for ", Seconds(since),
                  " s while this call was waiting; demote it there, or "
                  "force: that returns to ",
                  view.RestorePoint(), " and loses what was written since")};
    }
  } else {
    tracker.ForgetPeerPrimary(view.tracker_key);
  }
  if (!disturbed && NoSignOfLife(view, options)) {
    return {
        PromoteAction::kRefuseNoLife,
        absl::StrCat("no sign of life from the other side: ",
                     DescribeDeath(view, site_name), "; forcing returns to ",
                     view.RestorePoint(), " and loses what was written since")};
  }
  return {PromoteAction::kWait, DescribeWait(view, settle, site_name)};
}

}  // namespace addons
