#include "replication/decide/demote.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/mirror_clients.h"
#include "replication/look/leftover.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/peers.h"
#include "replication/look/report.h"

namespace addons {
namespace {

using absl::StatusCode;

DemoteDecision RefuseDemote(StatusCode code, std::string reason) {
  return {DemoteAction::kRefuse, code, std::move(reason), ""};
}

/// That `peer` is primary, too, is no older text that rbd-mirror wrote once
/// more before it looked again.
bool IsPrimaryNow(const SiteView& peer, const MirrorView& view) {
  // As the promotion does that waits for this peer: JudgeFollowers().
  return SaysPrimary(peer, view,
                     ToldNobody(view) ? Word::kLagging : Word::kSettled);
}

OwnDemotionMark MarkOf(const DemoteEvidence& seen) {
  const MirrorView& view = seen.view;
  // One that was given back stays so, until this site has copied from the peer.
  // Another program may have promoted it since, and told somebody.
  if (view.own.demotion.has_value() &&
      view.own.demotion->step == OwnDemotionStep::kGivenBack) {
    return {OwnDemotionStep::kGivenBack};
  }
  // Two were primary: this one gives the role to the other one, whose content
  // is not here, and must not take it back as if nothing had been written.
  const bool untold = ToldNobody(view);
  const auto other = [&](const SiteView& peer) {
    return SaysPrimary(peer, view, untold ? Word::kLagging : Word::kCurrent) ||
           (untold && Diverged(peer, view));
  };
  if (std::any_of(view.peers.begin(), view.peers.end(), other)) {
    OwnDemotionMark mark{OwnDemotionStep::kGivenBack};
    mark.told_nobody = untold;
    return mark;
  }
  OwnDemotionMark mark;
  // Perhaps an older text, but no word that it was in step just now.
  if (std::none_of(view.peers.begin(), view.peers.end(), MayHaveGoneOn)) {
    mark.heard = HeardOfAll(view);
  }
  return mark;
}

std::string DescribeMissingFollower(const DemoteEvidence& seen,
                                    const SiteNameFn& site_name) {
  // The way out first: a group's answer cuts long reasons of its members.
  constexpr char kLost[] =
      "; demoted now, its copy would stay behind for ever, and its next "
      "promotion would lose what was written here";
  for (const SiteView& peer : seen.view.peers) {
    const std::string site = site_name(peer.status.mirror_uuid);
    if (Diverged(peer, seen.view)) {
      return absl::StrCat(site,
                          " reports a split brain: resync the image there "
                          "first (autoResync: true, or state: resync); if the "
                          "content there is the right one, promote it there by "
                          "force instead",
                          kLost);
    }
    if (peer.says == Says::kError) {
      return absl::StrCat(site, " does not copy the image ('",
                          DescriptionText(peer.status.description),
                          "'): see to that first", kLost);
    }
  }
  return absl::StrCat(
      "no peer has noticed yet that this site is primary",
      MustHaveCopied(seen.view)
          ? " and reported that it has copied something since"
          : "",
      "; check that rbd-mirror of the other site runs (`rbd mirror pool "
      "status`)",
      kLost);
}

/// What is wrong before anything was changed.
std::optional<DemoteDecision> RefuseToBegin(const DemoteEvidence& seen) {
  const MirrorView& view = seen.view;
  if (view.info.state == MirrorImageState::kDisabling) {
    return RefuseDemote(StatusCode::kUnavailable, kDisablingText);
  }
  if (!view.enabled()) {
    return RefuseDemote(StatusCode::kFailedPrecondition,
                        "replication is not enabled");
  }
  if (seen.rescue.has_value() && AwaitsRestore(*seen.rescue, view)) {
    return RefuseDemote(
        StatusCode::kUnavailable,
        DescribeAwaitedRestore(*seen.rescue, seen.image, seen.rescue_spec));
  }
  if (view.info.primary) {
    // The site that is promoted next would go on with a copy that is not whole.
    std::string loss = DescribeCloneLoss(view, seen.spec);
    if (!loss.empty()) {
      return RefuseDemote(StatusCode::kFailedPrecondition, std::move(loss));
    }
  }
  return std::nullopt;
}

/// Of an own demotion that is half-done.
DemoteDecision DecideRepair(const MirrorView& view, SteadyDuration settle,
                            const SiteNameFn& site_name) {
  if (const SiteView* peer = ClaimingPeer(view); peer != nullptr) {
    const bool silent = peer->age >= settle;
    return RefuseDemote(
        StatusCode::kUnavailable,
        absl::StrCat(
            "an earlier demotion is half-done and cannot be repaired, because ",
            site_name(peer->status.mirror_uuid),
            silent ? " was primary when its rbd-mirror reported last, and is "
                     "silent now; start rbd-mirror there, and resync this "
                     "image if that site is still primary; if that site is "
                     "lost, promote this image by force"
                   : " is primary; resync this image"));
  }
  if (const std::string unclear = view.UnclearReport(settle);
      !unclear.empty()) {
    return RefuseDemote(
        StatusCode::kUnavailable,
        absl::StrCat("an earlier demotion is half-done and is not "
                     "repaired, because ",
                     unclear));
  }
  return {DemoteAction::kRepair, StatusCode::kOk, "", ""};
}

}  // namespace

bool FollowerSeen(const DemoteEvidence& seen) {
  const std::vector<SiteView>& peers = seen.view.peers;
  if (std::any_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
        return Diverged(peer, seen.view);
      })) {
    // As the promotion would do that waits for this peer.
    return ToldNobody(seen.view);
  }
  // In split brain it opens the image, too, and says "replaying" for a moment,
  // each time that it looks whether it can follow.
  if (seen.open_by_mirror && !MustHaveCopied(seen.view)) return true;
  return std::any_of(peers.begin(), peers.end(), [&](const SiteView& peer) {
    // A primary will not copy: demoting this side is the way out.
    return IsPrimaryNow(peer, seen.view) || Follows(peer, seen.view);
  });
}

std::string PublishedMark(const std::map<std::string, std::string>& published) {
  const auto mark =
      std::find_if(published.begin(), published.end(), [](const auto& entry) {
        return absl::StrContains(entry.first, "/clientaddress/") ||
               absl::StrContains(entry.first, "/userid/");
      });
  return mark == published.end() ? "" : mark->first;
}

std::string DescribeUse(const std::string& workload) {
  return absl::StrCat("the image is in use by ", workload,
                      "; stop the workload (a client that died is gone "
                      "from this list after 30 s)");
}

DemoteDecision DecideDemote(const DemoteEvidence& seen, SteadyDuration settle,
                            const SiteNameFn& site_name) {
  if (!seen.begun) {
    if (auto refused = RefuseToBegin(seen); refused.has_value()) {
      return *std::move(refused);
    }
  }
  if (!seen.view.info.primary) {
    if (OwnHalfDemotion(seen.view)) {
      return DecideRepair(seen.view, settle, site_name);
    }
    return {DemoteAction::kSecondary, StatusCode::kOk, "", ""};
  }
  if (!seen.workloads.empty()) {
    std::string workload = DescribeWatchers(seen.workloads);
    return {DemoteAction::kRefuse, StatusCode::kFailedPrecondition,
            DescribeUse(workload), std::move(workload)};
  }
  if (!seen.begun && !FollowerSeen(seen) && !seen.no_peers) {
    return {DemoteAction::kAwaitFollower, StatusCode::kUnavailable,
            DescribeMissingFollower(seen, site_name), ""};
  }
  // Its client may be between two watches; a mark alone must not stop a
  // failover for ever.
  if (!seen.begun && !seen.awaited_workload &&
      !PublishedMark(seen.published).empty()) {
    return {DemoteAction::kAwaitWorkload, StatusCode::kUnavailable,
            "the volume is still marked as published; looking once more", ""};
  }
  return {DemoteAction::kDemote, StatusCode::kOk, "", "", MarkOf(seen)};
}

}  // namespace addons
