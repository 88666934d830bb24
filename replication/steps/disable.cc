#include "replication/steps/disable.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "replication/decide/disable.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/enable.h"
#include "replication/steps/mirror_client_guard.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/rescue.h"

namespace addons {
namespace {

class Disabling {
 public:
  Disabling(const DisableRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session) {}

  absl::Status Run();

 private:
  absl::Status ReadObstacle(Image& image, const MirrorView& view);
  /// OK: nothing speaks against it any more.
  absl::Status RefuseNow(const MirrorView& view);
  /// That this call has disabled it.
  void TellRole(const MirrorView& view) const;
  /// Mirroring is off, so the mark of the group goes, too.
  absl::Status ForgetGroup(const MirrorView& view);
  /// Before a primary is disabled: whose image may stay.
  void TellLeftBehind(const MirrorView& view) const;
  absl::Status DisableImage(const MirrorView& view, Force force);
  absl::Status DisableOnceMore(const MirrorView& view, Force force);
  absl::StatusOr<DisableDecision> Decide(const MirrorView& view);
  absl::StatusOr<DisableDecision> CarryOn(const MirrorView& view);
  absl::StatusOr<std::optional<absl::Status>> CarryOut(
      const DisableDecision& decision, const MirrorView& view);
  /// Who is at a copy that is being disabled here; empty: nobody.
  absl::StatusOr<std::string> AtWork(const MirrorView& view);
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const DisableRequest& request_;
  Session& session_;
  bool forced_ = false;
  int carried_on_ = 0;
  bool plain_refused_ = false;  // a secondary whose mirror snapshots are gone
  std::string obstacle_;        // what librbd waits for, or refuses for
  absl::string_view role_before_;  // empty: nothing was disabled here
};

/// Of an image that is "disabling": who is at it makes it look different from
/// one moment to the next.
std::string LooksLike(const MirrorView& view) {
  return absl::StrCat(view.image_id, "/", view.snapshots.size());
}

absl::Status Disabling::Failed(absl::StatusCode code,
                               const std::string& reason) const {
  return FailedTo("disable replication of", session_.volume, code, reason);
}

/// Of a primary; what is asked of each costs a question.
absl::Status Disabling::ReadObstacle(Image& image, const MirrorView& view) {
  obstacle_.clear();
  if (!view.enabled() || !view.info.primary) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers, image.Lockers());
  obstacle_ = LockTakenByHand(lockers);
  if (!obstacle_.empty() || view.other_snapshots.empty()) {
    return absl::OkStatus();
  }
  ADDONS_ASSIGN_OR_RETURN(const auto clones,
                          MirroredClones(session_.cluster(), image));
  if (!clones.empty()) obstacle_ = DescribeMirroredClones(clones);
  return absl::OkStatus();
}

absl::Status Disabling::RefuseNow(const MirrorView& view) {
  if (!obstacle_.empty()) {
    return Failed(absl::StatusCode::kUnavailable, obstacle_);
  }
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  const auto refused = RefuseToDisable(
      view, rescue, RescueImageName(session_.volume.image_name()));
  if (refused.has_value()) return Failed(refused->code, refused->reason);
  return rescue.has_value() ? Rescue(session_).Remove() : absl::OkStatus();
}

absl::Status Disabling::DisableImage(const MirrorView& view, Force force) {
  ADDONS_RETURN_IF_ERROR(RefuseNow(view));
  // librbd leaves it on what it disables, and nothing takes it away from there.
  if (view.info.primary) {
    MirrorView seen = view;
    ADDONS_RETURN_IF_ERROR(
        MakeWritable(session_, "disable replication of", &seen));
  }
  // First, because the manager refuses to name the schedules of an image that
  // is not mirrored any more, and would use them again when it is mirrored
  // again.
  ADDONS_RETURN_IF_ERROR(RemoveSchedules(context_, environment_.options,
                                         session_.volume, view.image_id));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.SetPending(absl::OkStatus());
  context_.Step(force == Force::kYes ? "disabling by force" : "disabling");
  if (view.info.primary) TellLeftBehind(view);
  std::optional<MirrorClientGuard> guard;
  if (force == Force::kYes) {
    guard.emplace(session_.cluster(), *session_.reads, environment_.timeline);
  }
  role_before_ = RoleName(view);
  const bool marked = HasGroupMark(view) && force == Force::kNo;
  return ChangeImage(session_.volume, [&](Image& image) -> absl::Status {
    if (force == Force::kYes) {
      ADDONS_RETURN_IF_ERROR(RefuseLockTakenByHand("disable replication of",
                                                   session_.volume, image));
    }
    ADDONS_RETURN_IF_ERROR(image.MirrorDisable(force));
    // The next look tells when this failed: ForgetGroup().
    if (marked) image.RemoveMetadata(kGroupMark).IgnoreError();
    return absl::OkStatus();
  });
}

/// rbd-mirror removes a copy with its primary, and an image that has demoted
/// itself is no copy before it follows again.
void Disabling::TellLeftBehind(const MirrorView& view) const {
  if (LacksFollower(view)) {
    Log().warn(
        "no other site has reported since this one became primary, so what it "
        "has of the image may stay there, and be in the way when the image is "
        "mirrored again: disable it there with the parameter force: \"true\", "
        "and remove it volume={}",
        Quoted(session_.volume.volume_id.text()));
  }
  for (const SiteView& peer : view.peers) {
    if (peer.says == Says::kSecondary) continue;
    Log().warn(
        "{} does not follow this image ({}), so what it has of it may stay "
        "there, and be in the way when the image is mirrored again: disable it "
        "there with the parameter force: \"true\", and remove it volume={}",
        SiteName(*session_.reads, peer.status.mirror_uuid),
        Quoted(DescriptionText(peer.status.description)),
        Quoted(session_.volume.volume_id.text()));
  }
}

void Disabling::TellRole(const MirrorView& view) const {
  if (role_before_.empty()) return;
  NoteRoleChange(session_, role_before_, RoleName(view),
                 forced_ ? "disabled by force" : "disabled");
}

absl::Status Disabling::ForgetGroup(const MirrorView& view) {
  if (!HasGroupMark(view) || view.marked_non_primary) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  const absl::Status removed = ChangeImage(session_.volume, [](Image& image) {
    return image.RemoveMetadata(kGroupMark);
  });
  if (!removed.ok()) {
    // The next Enable writes it anew, or removes it.
    Log().warn("metadata '{}' stays on volume={}, which is not mirrored: {}",
               kGroupMark, Quoted(session_.volume.volume_id.text()),
               std::string(removed.message()));
  }
  return absl::OkStatus();
}

/// Whoever works on the image has it open. rbd-mirror of this site has it open
/// as well when it merely copies, and does not let go of it for as long as the
/// peer is dead (measured, 16.2.15), so what it has open counts only until it
/// has looked the same for the settle time: to remove a copy takes it seconds.
/// A client that died is gone after 30 s.
absl::StatusOr<std::string> Disabling::AtWork(const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients, FindClients(session_));
  if (!clients.workloads.empty()) return DescribeWatchers(clients.workloads);
  const SteadyDuration unchanged = environment_.timeline.HeldFor(
      view.timeline_key, Since::kDisabling, LooksLike(view));
  return clients.mirror && unchanged < environment_.options.settle_time
             ? "rbd-mirror of this site"
             : "";
}

/// An image that is "disabling": somebody is at it, or died in the middle.
absl::StatusOr<DisableDecision> Disabling::CarryOn(const MirrorView& view) {
  const SteadyTime now = context_.clock().Now();
  std::optional<SameFor>& same = session_.memory.disabling;
  std::string look = LooksLike(view);
  if (!same.has_value() || same->look != look) {
    same = SameFor{std::move(look), now};
  }
  if (now - same->since < environment_.options.look_gap) {
    return DisableDecision{DisableAction::kWait, absl::StatusCode::kUnavailable,
                           "the image is still being disabled"};
  }
  CarryOnEvidence seen{.view = view,
                       .force = request_.parameters.force,
                       .plain_refused = plain_refused_,
                       .carried_on = carried_on_};
  if (MayBeAtWork(view, plain_refused_)) {
    ADDONS_ASSIGN_OR_RETURN(seen.at_work, AtWork(view));
  }
  return DecideCarryOn(seen);
}

/// Carries a disable that was interrupted on. OK: a fresh look decides.
absl::Status Disabling::DisableOnceMore(const MirrorView& view, Force force) {
  ++carried_on_;
  Log().warn("carrying on a disable that was interrupted volume={}",
             Quoted(session_.volume.volume_id.text()));
  absl::Status disabled = DisableImage(view, force);
  // With the lease, which was just taken, it is looked at as carefully.
  if (SaysLookAgain(disabled)) session_.memory.disabling.reset();
  plain_refused_ |= force == Force::kNo && CephErrno(disabled) == EINVAL;
  // Another client may have been at it after all: a fresh look decides.
  if (!disabled.ok() && (carried_on_ == kCarryOns || !context_.mutating())) {
    return disabled;
  }
  session_.memory.disabling = SameFor{LooksLike(view), context_.clock().Now()};
  return absl::OkStatus();
}

absl::StatusOr<DisableDecision> Disabling::Decide(const MirrorView& view) {
  DisableEvidence seen{
      .view = view, .force = request_.parameters.force, .forced = forced_};
  seen.for_something_else = request_.only == MirroredFor::kGroup &&
                            role_before_.empty() &&
                            !MirroredForGroup(view, session_.volume);
  ADDONS_ASSIGN_OR_RETURN(
      const bool awaits_follower,
      AwaitsFollower(session_, view, environment_.options.settle_time));
  // Once for each time that this site became primary.
  const SteadyDuration awaited_for = environment_.timeline.HeldFor(
      view.timeline_key, Since::kLeftBehind,
      awaits_follower ? absl::StrCat(view.PrimarySince().value_or(0)) : "");
  if (awaits_follower) seen.awaited_for = awaited_for;
  DisableDecision decision = DecideDisable(seen, environment_.options);
  switch (decision.action) {
    case DisableAction::kCarryOn:
      return CarryOn(view);
    case DisableAction::kOff:
    case DisableAction::kKept:
      break;
    default:
      environment_.timeline.Forget(view.timeline_key, Since::kDisabling);
  }
  return decision;
}

/// nullopt: look again.
absl::StatusOr<std::optional<absl::Status>> Disabling::CarryOut(
    const DisableDecision& decision, const MirrorView& view) {
  const bool disabling = view.info.state == MirrorImageState::kDisabling;
  switch (decision.action) {
    case DisableAction::kOff:
      TellRole(view);
      return std::make_optional(ForgetGroup(view));
    case DisableAction::kKept:
      Log().info("replication of its own is kept volume={}",
                 Quoted(session_.volume.volume_id.text()));
      return std::make_optional(
          RestoreOwnSchedule(session_, request_.target.user, view));
    case DisableAction::kLeaveToPrimary:
      Log().info(
          "volume={} is the secondary of a living primary: nothing was "
          "disabled, the primary's disable removes this copy",
          Quoted(session_.volume.volume_id.text()));
      return std::make_optional(absl::OkStatus());
    case DisableAction::kUndoEnable: {
      ADDONS_ASSIGN_OR_RETURN(const bool half,
                              StaysHalfEnabled(session_, view));
      if (!half) return std::optional<absl::Status>();
      ADDONS_RETURN_IF_ERROR(DisableImage(view, Force::kYes));
      forced_ = true;
      return std::optional<absl::Status>();
    }
    case DisableAction::kDisable:
    case DisableAction::kForce: {
      const Force force =
          decision.action == DisableAction::kDisable ? Force::kNo : Force::kYes;
      if (disabling) {
        ADDONS_RETURN_IF_ERROR(DisableOnceMore(view, force));
      } else {
        ADDONS_RETURN_IF_ERROR(DisableImage(view, force));
        forced_ |= force == Force::kYes;
      }
      return std::optional<absl::Status>();
    }
    case DisableAction::kWait: {
      const absl::Status pending = Failed(decision.code, decision.reason);
      ADDONS_RETURN_IF_ERROR(
          WaitToLookAgain(session_, decision.reason, pending));
      return std::optional<absl::Status>();
    }
    case DisableAction::kCarryOn:
    case DisableAction::kRefuse:
      break;
  }
  return std::make_optional(Failed(decision.code, decision.reason));
}

absl::Status Disabling::Run() {
  while (true) {
    context_.Step("looking at both sites");
    const auto also = [this](Image& image, const MirrorView& seen) {
      return ReadObstacle(image, seen);
    };
    ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session_, also));
    environment_.series.ForgetPrimary(view.timeline_key);
    ADDONS_ASSIGN_OR_RETURN(const DisableDecision decision, Decide(view));
    ADDONS_ASSIGN_OR_RETURN(const auto answer, CarryOut(decision, view));
    if (answer.has_value()) return *answer;
  }
}

}  // namespace

absl::StatusOr<bool> AwaitsFollower(const OpenedVolume& opened,
                                    const MirrorView& view,
                                    SteadyDuration settle) {
  if (HasLateFollower(view, settle)) return true;
  if (!LacksFollower(view)) return false;
  ADDONS_ASSIGN_OR_RETURN(const auto peers, opened.reads->MirrorPeers());
  return HasReportingPeer(peers);
}

absl::Status Disable(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const DisableRequest& request) {
  return RunWithSession(
      context, environment, request.target, "disable replication of",
      [&](Session& session) { return Disabling(request, session).Run(); },
      {.changes = LastRole::kPrimary, .although_full = true});
}

}  // namespace addons
