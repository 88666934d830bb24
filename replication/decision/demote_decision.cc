#include "replication/decision/demote_decision.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/mirror_clients.h"
#include "replication/decision/peer_claims.h"
#include "replication/state/leftover.h"
#include "replication/state/mirrored_clone.h"

namespace addons {
namespace {

using absl::StatusCode;

DemoteDecision RefuseDemote(StatusCode code, std::string reason) {
  return {DemoteAction::kRefuse, code, std::move(reason), ""};
}

/// What `peer` reports is about the time since this site became primary, and
/// not an older text that rbd-mirror wrote once more before it looked again.
bool IsCurrent(const SiteView& peer, const DemoteEvidence& seen) {
  const int rewrites = seen.rewrites(peer.status.mirror_uuid);
  const bool secondary = peer.role == SiteRole::kSecondary;
  if (rewrites >= (secondary ? 1 : 2)) return true;
  const std::optional<int64_t> since = seen.view.PrimarySince();
  return since.has_value() && peer.status.last_update >=
                                  *since + (secondary ? 0 : kReportLag.count());
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
DemoteDecision DecideRepair(
    const MirrorView& view, SteadyDuration settle,
    const std::function<std::string(const std::string&)>& site_name) {
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
  if (seen.open_by_mirror) return true;
  return std::any_of(seen.view.peers.begin(), seen.view.peers.end(),
                     [&](const SiteView& peer) {
                       switch (peer.role) {
                         case SiteRole::kSecondary:
                         // These will not copy: demoting this side is the way
                         // out.
                         case SiteRole::kPrimary:
                         case SiteRole::kSplitBrain:
                         case SiteRole::kError:
                           return IsCurrent(peer, seen);
                         case SiteRole::kNotPrimary:
                         case SiteRole::kUnclear:
                           break;
                       }
                       return false;
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

DemoteDecision DecideDemote(
    const DemoteEvidence& seen, SteadyDuration settle,
    const std::function<std::string(const std::string&)>& site_name) {
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
            "no peer has noticed yet that this site is primary; demoted now, "
            "its copy would stay behind for ever; check that rbd-mirror of the "
            "other site runs (`rbd mirror pool status`)",
            ""};
  }
  // Its client may be between two watches; a mark alone must not stop a
  // failover for ever.
  if (!seen.begun && !seen.awaited_workload &&
      !PublishedMark(seen.published).empty()) {
    return {DemoteAction::kAwaitWorkload, StatusCode::kUnavailable,
            "the volume is still marked as published; looking once more", ""};
  }
  return {DemoteAction::kDemote, StatusCode::kOk, "", ""};
}

}  // namespace addons
