#include "replication/disable.h"

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
#include "replication/decision/signs_of_life.h"
#include "replication/half_enable.h"
#include "replication/mirror_client_guard.h"
#include "replication/mirror_schedule.h"
#include "replication/rescue.h"
#include "replication/session.h"
#include "replication/state/group_mark.h"
#include "replication/state/leftover.h"
#include "replication/state/rescue_record.h"
#include "replication/state/role_log.h"

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
  absl::Status RefuseUnfinishedRescue(const MirrorView& view);
  /// Mirroring is off, so the mark of the group goes, too.
  /// That this call has disabled it.
  void TellRole(const MirrorView& view) const;
  absl::Status ForgetGroup(const MirrorView& view);
  absl::Status DisableImage(const MirrorView& view, Force force);
  /// nullopt: not decided yet, look again.
  absl::StatusOr<std::optional<absl::Status>> DecideSecondary(
      const MirrorView& view, std::string* waiting_for);
  absl::StatusOr<std::optional<absl::Status>> CarryOn(const MirrorView& view,
                                                      std::string* waiting_for);
  /// Who is at a copy that is being disabled here; empty: nobody.
  absl::StatusOr<std::string> AtWork(const MirrorView& view);
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const DisableRequest& request_;
  Session& session_;
  bool forced_ = false;
  /// What an image that is "disabling" looked like, and since when.
  std::string disabling_as_;
  SteadyTime disabling_since_;
  int carried_on_ = 0;
  bool plain_refused_ = false;  // a secondary whose mirror snapshots are gone
  absl::string_view role_before_;  // empty: nothing was disabled here
};

/// A report that was rewritten so often tells of a time after the first look.
constexpr int kRewritesOfPresent = 2;
/// How often a disable that does not end is carried on within one call.
constexpr int kCarryOns = 3;

/// A copy of a peer's image, or one that this site has demoted: ending its
/// mirroring takes force.
bool NeedsForce(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return !view.info.primary;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->kind != MirrorSnapshotKind::kPrimary;
}

/// Under which the tracker remembers, from one call to the next, since when an
/// image that is being disabled has looked the same.
std::string DisablingKey(const MirrorView& view) {
  return absl::StrCat(view.tracker_key, "/disabling");
}

absl::Status Disabling::Failed(absl::StatusCode code,
                               const std::string& reason) const {
  return FailedTo("disable replication of", session_.volume, code, reason);
}

absl::Status Disabling::RefuseUnfinishedRescue(const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (!rescue.has_value()) return absl::OkStatus();
  if (!RescueIsLive(*rescue, view)) {
    return Rescue(session_).Remove();
  }
  return Failed(
      absl::StatusCode::kUnavailable,
      absl::StrCat(
          "a forced promotion that returns to the last complete state is "
          "half-done, and disabling now would lose that state; "
          "promote the image by force on this site first, or remove "
          "the image '",
          RescueImageName(session_.volume.image_name()).text(),
          "' if its content is not needed"));
}

absl::Status Disabling::DisableImage(const MirrorView& view, Force force) {
  ADDONS_RETURN_IF_ERROR(RefuseUnfinishedRescue(view));
  if (const ImageSnapshot* snapshot = UserSnapshotInMidCopy(view);
      !view.info.primary && snapshot != nullptr) {
    return Failed(absl::StatusCode::kUnavailable,
                  DescribeUserSnapshotInMidCopy(*snapshot));
  }
  // First, because the manager refuses to name the schedules of an image that
  // is not mirrored any more, and would use them again when it is mirrored
  // again.
  ADDONS_RETURN_IF_ERROR(RemoveSchedules(context_, environment_.options,
                                         session_.cluster(),
                                         session_.volume.ImageSpec()));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.SetPending(absl::OkStatus());
  context_.Step(force == Force::kYes ? "disabling by force" : "disabling");
  std::optional<MirrorClientGuard> guard;
  if (force == Force::kYes) {
    guard.emplace(session_.cluster(), *session_.reads, environment_.tracker);
  }
  role_before_ = RoleOf(view);
  const bool marked = HasGroupMark(view) && force == Force::kNo;
  return ChangeImage(session_.volume, [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(image.MirrorDisable(force));
    // The next look tells when this failed: ForgetGroup().
    if (marked) image.RemoveMetadata(kGroupMark).IgnoreError();
    return absl::OkStatus();
  });
}

void Disabling::TellRole(const MirrorView& view) const {
  if (role_before_.empty()) return;
  NoteRoleChange(session_, role_before_, RoleOf(view),
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

absl::StatusOr<std::optional<absl::Status>> Disabling::DecideSecondary(
    const MirrorView& view, std::string* waiting_for) {
  const SteadyDuration settle = environment_.options.settle_time;
  const bool one_way_alive = view.OneWay() && view.LocalDaemonUp() &&
                             view.local->role == SiteRole::kSecondary;
  const SiteView* primary = view.FreshPeer(SiteRole::kPrimary, settle);
  // A report whose daemon has gone since is no sign of a living primary: OK
  // would end the operator's care for a copy that stays mirrored.
  if (one_way_alive || (primary != nullptr && primary->status.up)) {
    Log().info(
        "volume={} is the secondary of a living primary: nothing was disabled, "
        "the primary's disable removes this copy",
        Quoted(session_.volume.volume_id.text()));
    return std::make_optional(absl::OkStatus());
  }
  const SiteView* not_primary = view.FreshPeer(SiteRole::kNotPrimary, settle);
  const bool nobody_primary = not_primary != nullptr;
  if (nobody_primary &&
      session_.memory.Reports(view).Rewrites(not_primary->status.mirror_uuid) <
          kRewritesOfPresent) {
    // It may just have been promoted.
    *waiting_for =
        "this site is secondary, and the peer has not reported yet whether it "
        "is primary now (up to a minute)";
    return std::optional<absl::Status>();
  }
  if (!nobody_primary && !NoSignOfLife(view, environment_.options)) {
    *waiting_for =
        "this site is secondary, and it is not clear yet whether the peer "
        "lives";
    return std::optional<absl::Status>();
  }
  if (request_.parameters.force == Force::kYes) {
    ADDONS_RETURN_IF_ERROR(DisableImage(view, Force::kYes));
    forced_ = true;
    return std::optional<absl::Status>();
  }
  return std::make_optional(Failed(
      absl::StatusCode::kFailedPrecondition,
      nobody_primary
          ? "neither site is primary; promote one of them and disable there, "
            "or pass the parameter force: \"true\" to turn this copy into an "
            "image of its own"
          : "this site is secondary and its peer shows no sign of life; if the "
            "peer is lost for good, pass the parameter force: \"true\""));
}

/// Whoever works on the image has it open. rbd-mirror of this site has it open
/// as well when it merely copies, and does not let go of it for as long as the
/// peer is dead (measured, 16.2.15), so what it has open counts only until it
/// has looked the same for the settle time: to remove a copy takes it seconds.
/// A client that died is gone after 30 s.
absl::StatusOr<std::string> Disabling::AtWork(const MirrorView& view) {
  auto image = session_.reads->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                          FindClients(session_, **image));
  if (!clients.workloads.empty()) return DescribeWatchers(clients.workloads);
  const SteadyDuration unchanged =
      environment_.tracker.MarkAge(DisablingKey(view), disabling_as_);
  return clients.mirror && unchanged < environment_.options.settle_time
             ? "rbd-mirror of this site"
             : "";
}

/// An image that is "disabling": somebody is at it, or died in the middle.
/// Who is at it makes it look different from one moment to the next.
absl::StatusOr<std::optional<absl::Status>> Disabling::CarryOn(
    const MirrorView& view, std::string* waiting_for) {
  const SteadyTime now = context_.clock().Now();
  std::string as = absl::StrCat(view.image_id, "/", view.snapshots.size());
  if (as != disabling_as_) {
    disabling_as_ = std::move(as);
    disabling_since_ = now;
  }
  *waiting_for = "the image is still being disabled";
  if (now - disabling_since_ < environment_.options.look_gap) {
    return std::optional<absl::Status>();
  }
  const bool needs_force = NeedsForce(view) || plain_refused_;
  if (needs_force || view.marked_non_primary) {
    ADDONS_ASSIGN_OR_RETURN(const std::string at_work, AtWork(view));
    if (!at_work.empty()) {
      *waiting_for = absl::StrCat(
          "the image is still being disabled, or its "
          "copy removed, by ",
          at_work);
      return std::optional<absl::Status>();
    }
  }
  if (needs_force && request_.parameters.force == Force::kNo) {
    return std::make_optional(
        Failed(absl::StatusCode::kFailedPrecondition,
               "a forced disable was interrupted on this site; pass the "
               "parameter force: \"true\" to carry it on"));
  }
  if (++carried_on_ > kCarryOns) {
    return std::make_optional(Failed(
        absl::StatusCode::kUnavailable,
        "the image is still being disabled after a disable that reported "
        "success; check the cluster's health and repeat the call"));
  }
  Log().warn("carrying on a disable that was interrupted volume={}",
             Quoted(session_.volume.volume_id.text()));
  absl::Status disabled =
      DisableImage(view, needs_force ? Force::kYes : Force::kNo);
  plain_refused_ |= !needs_force && CephErrno(disabled) == EINVAL;
  // Another client may have been at it after all: a fresh look decides.
  if (!disabled.ok() && carried_on_ == kCarryOns) return disabled;
  if (!disabled.ok() && !context_.mutating()) return disabled;
  disabling_since_ = now;
  return std::optional<absl::Status>();
}

absl::Status Disabling::Run() {
  while (true) {
    context_.Step("looking at both sites");
    ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session_));
    environment_.series.ForgetPrimary(view.tracker_key);
    session_.memory.Reports(view).Note(view);
    std::string waiting_for;
    if (view.info.state == MirrorImageState::kDisabled) {
      TellRole(view);
      return ForgetGroup(view);
    }
    if (request_.only == MirroredFor::kGroup && view.enabled() &&
        role_before_.empty() && !MirroredForGroup(view, session_.volume)) {
      Log().info("replication of its own is kept volume={}",
                 Quoted(session_.volume.volume_id.text()));
      return absl::OkStatus();
    }
    const int carried_on = carried_on_;
    std::optional<absl::Status> decided;
    if (view.info.state != MirrorImageState::kDisabling) {
      environment_.tracker.MarkAge(DisablingKey(view), "");
    }
    if (view.info.state == MirrorImageState::kDisabling) {
      ADDONS_ASSIGN_OR_RETURN(decided, CarryOn(view, &waiting_for));
    } else if (view.info.primary) {
      ADDONS_RETURN_IF_ERROR(DisableImage(view, Force::kNo));
      continue;
    } else if (forced_) {
      decided = Failed(absl::StatusCode::kUnavailable,
                       "the image is still mirrored after a forced disable "
                       "that reported success; repeat the call");
    } else if (HalfEnabled(view)) {
      ADDONS_ASSIGN_OR_RETURN(const bool half,
                              StaysHalfEnabled(session_, view));
      if (!half) continue;
      // No peer has a copy of it, and there is nothing that it could copy.
      ADDONS_RETURN_IF_ERROR(DisableImage(view, Force::kYes));
      forced_ = true;
    } else {
      ADDONS_ASSIGN_OR_RETURN(decided, DecideSecondary(view, &waiting_for));
    }
    if (decided.has_value()) return *decided;
    if (forced_ || carried_on_ != carried_on) continue;
    ADDONS_RETURN_IF_ERROR(
        WaitToLookAgain(session_, waiting_for,
                        Failed(absl::StatusCode::kUnavailable, waiting_for)));
  }
}

}  // namespace

absl::Status Disable(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const DisableRequest& request) {
  return RunWithSession(
      context, environment, request.target, "disable replication of",
      [&](Session& session) { return Disabling(request, session).Run(); });
}

}  // namespace addons
