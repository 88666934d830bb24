#include "replication/decide/disable.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/look/leftover.h"
#include "replication/look/peers.h"
#include "replication/look/signs_of_life.h"

namespace addons {
namespace {

using absl::StatusCode;
using Action = DisableAction;

DisableDecision Go(Action action) { return {action, StatusCode::kOk, ""}; }

DisableDecision Wait(std::string reason) {
  return {Action::kWait, StatusCode::kUnavailable, std::move(reason)};
}

DisableDecision RefuseDisable(StatusCode code, std::string reason) {
  return {Action::kRefuse, code, std::move(reason)};
}

DisableDecision DecideSecondary(const DisableEvidence& seen,
                                const ReplicationOptions& options) {
  const MirrorView& view = seen.view;
  const SteadyDuration settle = options.settle_time;
  const bool one_way_alive = view.OneWay() && view.LocalDaemonUp() &&
                             view.local->says == Says::kSecondary;
  // A report whose daemon has gone since is no sign of a living primary: OK
  // would end the operator's care for a copy that stays mirrored.
  if (one_way_alive || AnyLives(view, Says::kPrimary, settle)) {
    return Go(Action::kLeaveToPrimary);
  }
  const SiteView* const not_primary =
      FindPeer(view, Says::kNotPrimary, Word::kBefore, settle);
  const bool nobody_primary = not_primary != nullptr;
  // It may just have been promoted.
  if (nobody_primary && WordOf(*not_primary, view) < Word::kSettled) {
    return Wait(
        "this site is secondary, and the peer has not reported yet whether it "
        "is primary now (up to a minute)");
  }
  if (!nobody_primary && !ImageShowsNoLife(view, options)) {
    return Wait(
        "this site is secondary, and it is not clear yet whether the peer "
        "lives");
  }
  if (seen.force == Force::kYes) return Go(Action::kForce);
  return RefuseDisable(
      StatusCode::kFailedPrecondition,
      nobody_primary
          ? "neither site is primary; promote one of them and disable there, "
            "or pass the parameter force: \"true\" to turn this copy into an "
            "image of its own"
          : "this site is secondary and its peer shows no sign of life; if the "
            "peer is lost for good, pass the parameter force: \"true\"");
}

}  // namespace

bool HasLateFollower(const MirrorView& view, SteadyDuration settle) {
  return view.info.primary &&
         std::any_of(
             view.peers.begin(), view.peers.end(), [&](const SiteView& peer) {
               return Lives(peer, settle) && (peer.says == Says::kNotPrimary ||
                                              MayBePrimary(peer, view));
             });
}

bool LacksFollower(const MirrorView& view) {
  return view.info.primary && view.peers.empty() &&
         std::any_of(view.snapshots.begin(), view.snapshots.end(),
                     [](const MirrorSnapshot& snapshot) {
                       return snapshot.kind ==
                              MirrorSnapshotKind::kNonPrimaryDemoted;
                     });
}

DisableDecision DecideDisable(const DisableEvidence& seen,
                              const ReplicationOptions& options) {
  const MirrorView& view = seen.view;
  if (view.info.state == MirrorImageState::kDisabled) return Go(Action::kOff);
  if (seen.for_something_else && view.enabled()) return Go(Action::kKept);
  if (view.info.state == MirrorImageState::kDisabling) {
    return Go(Action::kCarryOn);
  }
  if (view.info.primary) {
    if (!seen.awaited_for.has_value() ||
        *seen.awaited_for >= options.settle_time) {
      return Go(Action::kDisable);
    }
    return Wait(
        "the peer, which was demoted, has not noticed yet that this site is "
        "primary, and would keep its image (up to a minute)");
  }
  if (seen.forced) {
    return RefuseDisable(StatusCode::kUnavailable,
                         "the image is still mirrored after a forced disable "
                         "that reported success; repeat the call");
  }
  // No peer has a copy of it, and there is nothing that it could copy.
  if (HalfEnabled(view)) return Go(Action::kUndoEnable);
  return DecideSecondary(seen, options);
}

bool CarryOnNeedsForce(const MirrorView& view, bool plain_refused) {
  if (plain_refused) return true;
  if (view.info.mode == MirrorMode::kJournal) return !view.info.primary;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->kind != MirrorSnapshotKind::kPrimary;
}

bool MayBeAtWork(const MirrorView& view, bool plain_refused) {
  return view.marked_non_primary || CarryOnNeedsForce(view, plain_refused);
}

DisableDecision DecideCarryOn(const CarryOnEvidence& seen) {
  const bool needs_force = CarryOnNeedsForce(seen.view, seen.plain_refused);
  if (!seen.at_work.empty()) {
    return Wait(
        absl::StrCat("the image is still being disabled, or its "
                     "copy removed, by ",
                     seen.at_work));
  }
  if (needs_force && seen.force == Force::kNo) {
    return RefuseDisable(
        StatusCode::kFailedPrecondition,
        "a forced disable was interrupted on this site; pass the "
        "parameter force: \"true\" to carry it on");
  }
  if (seen.carried_on >= kCarryOns) {
    return RefuseDisable(
        StatusCode::kUnavailable,
        "the image is still being disabled after a disable that reported "
        "success; check the cluster's health and repeat the call");
  }
  return Go(needs_force ? Action::kForce : Action::kDisable);
}

std::optional<DisableDecision> RefuseToDisable(
    const MirrorView& view, const std::optional<RescueRecord>& rescue,
    const ImageName& rescue_image) {
  if (rescue.has_value() && RescueIsLive(*rescue, view)) {
    return RefuseDisable(
        StatusCode::kUnavailable,
        absl::StrCat(
            "a forced promotion that returns to the last complete state is "
            "half-done, and disabling now would lose that state; "
            "promote the image by force on this site first, or remove "
            "the image '",
            rescue_image.text(), "' if its content is not needed"));
  }
  if (const ImageSnapshot* snapshot = UserSnapshotInMidCopy(view);
      !view.info.primary && snapshot != nullptr) {
    return RefuseDisable(StatusCode::kUnavailable,
                         DescribeUserSnapshotInMidCopy(*snapshot));
  }
  return std::nullopt;
}

}  // namespace addons
