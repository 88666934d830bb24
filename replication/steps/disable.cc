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
#include "ceph/image_header.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "replication/decide/disable.h"
#include "replication/look/leftover.h"
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_client_guard.h"
#include "replication/steps/ceph_faults/rescue.h"
#include "replication/steps/enable.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/run_steps.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

class Disabling final : public VerbRun<DisableRequest> {
 public:
  Disabling(const DisableRequest& request, Session& session)
      : VerbRun("disable replication of", request, session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next);

 private:
  absl::Status ReadObstacle();
  absl::StatusOr<DisableSeen> Seen();
  /// That this call has disabled it.
  void TellRole();
  /// Mirroring is off, so the mark of the group goes, too.
  absl::Status ForgetGroup();
  /// Before a primary is disabled: whose image may stay.
  void TellLeftBehind() const;
  void ForgetPoints(Image& image) const;
  absl::Status DisableNow(Force force);
  absl::StatusOr<bool> DisableImage(Force force);
  absl::Status DisableOnceMore(Force force);
  /// Who is at a copy that is being disabled here; empty: nobody.
  absl::StatusOr<std::string> AtWork();

  MirrorView view_;
  std::optional<std::optional<RescueRecord>> rescue_;  // read after view_
  bool forced_ = false;
  int carried_on_ = 0;
  bool plain_refused_ = false;  // a secondary whose mirror snapshots are gone
  std::string obstacle_;        // what librbd waits for, or refuses for
  absl::string_view role_before_;  // empty: nothing was disabled here
};

/// Of a primary; what is asked of each costs a question.
absl::Status Disabling::ReadObstacle() {
  obstacle_.clear();
  if (!view_.enabled() || !view_.info.primary) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers,
                          ListImageLockers(*session_.reads, view_.image_id));
  obstacle_ = LockTakenByHand(lockers);
  if (!obstacle_.empty() || view_.other_snapshots.empty()) {
    return absl::OkStatus();
  }
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session_.reads->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const auto clones,
                          MirroredClones(session_.cluster(), *image));
  if (!clones.empty()) obstacle_ = DescribeMirroredClones(clones);
  return image->Close();
}

absl::StatusOr<bool> Disabling::DisableImage(Force force) {
  // librbd leaves it on what it disables, and nothing takes it away from there.
  if (view_.info.primary) {
    ADDONS_RETURN_IF_ERROR(
        MakeWritable(session_, "disable replication of", &view_));
  }
  // First, because the manager refuses to name the schedules of an image that
  // is not mirrored any more, and would use them again when it is mirrored
  // again.
  ADDONS_RETURN_IF_ERROR(RemoveSchedules(context_, environment_.options,
                                         session_.volume, view_.image_id));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.SetPending(absl::OkStatus());
  context_.Step(force == Force::kYes ? "disabling by force" : "disabling");
  if (view_.info.primary) TellLeftBehind();
  std::optional<MirrorClientGuard> guard;
  if (force == Force::kYes) {
    guard.emplace(session_.cluster(), *session_.reads, environment_.timeline);
  }
  const bool marked = HasGroupMark(view_) && force == Force::kNo;
  const auto disable = [&](Image& image) -> absl::Status {
    role_before_ = RoleName(view_);
    if (force == Force::kYes) {
      ADDONS_RETURN_IF_ERROR(RefuseLockTakenByHand("disable replication of",
                                                   session_.volume, image));
    }
    // A copy that is disabled by force takes writes only after that.
    if (view_.info.primary) ForgetPoints(image);
    ADDONS_RETURN_IF_ERROR(image.MirrorDisable(force));
    if (!view_.info.primary) ForgetPoints(image);
    // The next look tells when this failed: ForgetGroup().
    if (marked) {
      image.ChangeMetadata({{kGroupMark, std::nullopt}}).IgnoreError();
    }
    return absl::OkStatus();
  };
  return ChangeAsSeen(session_, view_, disable);
}

/// They prove a copy that there is none of any more, and would keep ceph-csi
/// from deleting the image. What cannot be removed keeps nothing else.
void Disabling::ForgetPoints(Image& image) const {
  const absl::Status removed =
      RemovePoints(PointsIn(view_.other_snapshots), image);
  if (removed.ok()) return;
  Log().warn(
      "points of an image stay there, and keep it from being deleted: see `rbd "
      "snap ls`, and remove them with `rbd snap rm` volume={} message={}",
      Quoted(session_.volume.volume_id.text()), Quoted(removed.message()));
}

/// rbd-mirror removes a copy with its primary, and an image that has demoted
/// itself is no copy before it follows again.
void Disabling::TellLeftBehind() const {
  if (LacksFollower(view_)) {
    Log().warn(
        "no other site has reported since this one became primary, so what it "
        "has of the image may stay there, and be in the way when the image is "
        "mirrored again: disable it there with the parameter force: \"true\", "
        "and remove it volume={}",
        Quoted(session_.volume.volume_id.text()));
  }
  for (const SiteView& peer : view_.peers) {
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

void Disabling::TellRole() {
  if (role_before_.empty()) return;
  const Force force = forced_ ? Force::kYes : Force::kNo;
  NoteRoleChange(session_, RoleChange{RoleVerb::kDisable, force},
                 std::exchange(role_before_, {}), RoleName(view_),
                 forced_ ? "disabled by force" : "disabled");
}

absl::Status Disabling::ForgetGroup() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  fresh = true;
  const absl::Status removed = ChangeImage(session_.volume, [](Image& image) {
    return image.ChangeMetadata({{kGroupMark, std::nullopt}});
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
absl::StatusOr<std::string> Disabling::AtWork() {
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                          FindClients(session_, view_.image_id));
  if (!clients.workloads.empty()) return DescribeWatchers(clients.workloads);
  const SteadyDuration unchanged = environment_.timeline.HeldFor(
      view_.timeline_key, Since::kDisabling, LooksLike(view_));
  return clients.mirror && unchanged < environment_.options.settle_time
             ? "rbd-mirror of this site"
             : "";
}

absl::Status Disabling::See() {
  context_.Step("looking at both sites");
  rescue_.reset();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  environment_.series.ForgetPrimary(view_.timeline_key);
  if (const absl::Status read = ReadObstacle(); !read.ok()) {
    return AfterResolve(read, session_.volume);
  }
  return absl::OkStatus();
}

absl::StatusOr<DisableSeen> Disabling::Seen() {
  DisableSeen seen{.view = view_,
                   .options = environment_.options,
                   .force = request_.parameters.force};
  seen.for_something_else = request_.only == MirroredFor::kGroup &&
                            role_before_.empty() &&
                            !MirroredForGroup(view_, session_.volume);
  ADDONS_ASSIGN_OR_RETURN(
      const bool awaits_follower,
      AwaitsFollower(session_, view_, environment_.options.settle_time));
  // Once for each time that this site became primary.
  const SteadyDuration awaited_for = environment_.timeline.HeldFor(
      view_.timeline_key, Since::kLeftBehind,
      awaits_follower ? absl::StrCat(view_.PrimarySince().value_or(0)) : "");
  if (awaits_follower) seen.awaited_for = awaited_for;
  seen.obstacle = obstacle_;
  seen.rescue = rescue_;
  seen.rescue_image = RescueImageName(session_.volume.image_name());
  seen.forced = forced_;
  seen.plain_refused = plain_refused_;
  seen.carried_on = carried_on_;
  seen.done = done;
  return seen;
}

absl::StatusOr<Next> Disabling::Judge() {
  ADDONS_ASSIGN_OR_RETURN(DisableSeen seen, Seen());
  if (view_.info.state == MirrorImageState::kDisabling) {
    seen.unchanged_for =
        UnchangedFor(view_, context_.clock().Now(), &session_.memory.disabling);
    if (seen.unchanged_for >= environment_.options.look_gap &&
        MayBeAtWork(view_, plain_refused_)) {
      ADDONS_ASSIGN_OR_RETURN(seen.at_work, AtWork());
    }
  } else if (view_.info.state != MirrorImageState::kDisabled &&
             !seen.for_something_else) {
    environment_.timeline.Forget(view_.timeline_key, Since::kDisabling);
    if (HalfEnabled(view_)) {
      seen.unchanged_for = UnchangedFor(view_, context_.clock().Now(),
                                        &session_.memory.half_enabled);
    }
  }
  if (view_.info.state == MirrorImageState::kDisabled) TellRole();
  Next next = DecideDisable(seen);
  if (next.step != Step::kReadRescue) return next;
  ADDONS_ASSIGN_OR_RETURN(
      rescue_,
      ReadRescueRecord(*session_.reads, session_.volume.image_name(), &view_));
  seen.rescue = rescue_;
  return DecideDisable(seen);
}

absl::Status Disabling::Await(const Next& next) {
  if (next.step == Step::kAwaitHalfEnable) {
    return AwaitHalfEnable(session_);
  }
  return WaitToLookAgain(session_, next.reason, Failed(next.code, next.reason));
}

absl::Status Disabling::Act(const Next& next) {
  switch (next.step) {
    case Step::kForgetGroup:
      return ForgetGroup();
    case Step::kKeepSchedule:
      fresh = true;
      return RestoreOwnSchedule(session_, request_.target.user, view_);
    case Step::kRemoveRescue: {
      fresh = true;
      absl::Status removed = Rescue(session_).Remove();
      // With the lease, which was just taken, it is looked at as carefully.
      if (SaysLookAgain(removed)) {
        session_.memory.disabling.reset();
        session_.memory.half_enabled.reset();
      }
      rescue_ = std::optional<RescueRecord>();
      return removed;
    }
    case Step::kUndoEnable:
      // With the lease, which is taken next, it is looked at as carefully.
      session_.memory.half_enabled.reset();
      return DisableNow(Force::kYes);
    case Step::kDisable:
      return DisableNow(Force::kNo);
    case Step::kDisableByForce:
      return DisableNow(Force::kYes);
    default:
      return NoSuchStep();
  }
}

absl::Status Disabling::Answer(const Next& next) {
  if (next.code != absl::StatusCode::kOk) {
    return Failed(next.code, next.reason);
  }
  if (view_.enabled()) {
    Log().info("{} volume={}", next.reason,
               Quoted(session_.volume.volume_id.text()));
  }
  return absl::OkStatus();
}

absl::Status Disabling::DisableNow(Force force) {
  if (view_.info.state == MirrorImageState::kDisabling) {
    return DisableOnceMore(force);
  }
  ADDONS_ASSIGN_OR_RETURN(const bool disabled, DisableImage(force));
  forced_ |= disabled && force == Force::kYes;
  return absl::OkStatus();
}

/// Carries a disable that was interrupted on. OK: a fresh look decides.
absl::Status Disabling::DisableOnceMore(Force force) {
  ++carried_on_;
  Log().warn("carrying on a disable that was interrupted volume={}",
             Quoted(session_.volume.volume_id.text()));
  absl::Status disabled = DisableImage(force).status();
  // With the lease, which was just taken, it is looked at as carefully.
  if (SaysLookAgain(disabled)) session_.memory.disabling.reset();
  plain_refused_ |= force == Force::kNo && CephErrno(disabled) == EINVAL;
  // Another client may have been at it after all: a fresh look decides.
  if (!disabled.ok() && (carried_on_ == kCarryOns || !context_.mutating())) {
    return disabled;
  }
  session_.memory.disabling = SameFor{LooksLike(view_), context_.clock().Now()};
  return absl::OkStatus();
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
  return RunWithSession(context, environment, request.target,
                        "disable replication of",
                        [&](Session& session) {
                          Disabling disabling(request, session);
                          return RunSteps(disabling);
                        },
                        {.changes = LastRole::kPrimary, .although_full = true});
}

}  // namespace addons
