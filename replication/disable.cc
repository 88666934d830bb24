#include "replication/disable.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/mirror_client_guard.h"
#include "replication/mirror_schedule.h"
#include "replication/promote_decision.h"
#include "replication/rescue.h"
#include "replication/rescue_record.h"
#include "replication/session.h"

namespace addons {
namespace {

class Disabling {
 public:
  Disabling(OperationContext& context, ReplicationEnvironment& environment,
            const DisableRequest& request, Session& session)
      : context_(context),
        environment_(environment),
        request_(request),
        session_(session) {}

  absl::Status Run();

 private:
  absl::Status RefuseUnfinishedRescue(const MirrorView& view);
  absl::Status DisableImage(const MirrorView& view, Force force);
  /// nullopt: not decided yet, look again.
  absl::StatusOr<std::optional<absl::Status>> DecideSecondary(
      const MirrorView& view, std::string* waiting_for);
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const DisableRequest& request_;
  Session& session_;
  bool forced_ = false;
};

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
    return Rescue(context_, environment_, session_).Remove();
  }
  return Failed(
      absl::StatusCode::kUnavailable,
      absl::StrCat("a forced promotion that returns to the last whole state is "
                   "half-done, and disabling now would lose that state; "
                   "promote the image by force on this site first, or remove "
                   "the image '",
                   RescueImageName(session_.volume.image_name()),
                   "' if its content is not needed"));
}

absl::Status Disabling::DisableImage(const MirrorView& view, Force force) {
  ADDONS_RETURN_IF_ERROR(RefuseUnfinishedRescue(view));
  // First, because the manager refuses to name the schedules of an image that
  // is not mirrored any more, and would use them again when it is mirrored
  // again.
  ADDONS_RETURN_IF_ERROR(
      RemoveSchedules(context_, environment_.options, session_.cluster(),
                      session_.reads->ImageSpec(session_.volume.image_name())));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.SetPending(absl::OkStatus());
  context_.Step(force == Force::kYes ? "disabling by force" : "disabling");
  std::optional<MirrorClientGuard> guard;
  if (force == Force::kYes) {
    guard.emplace(session_.cluster(), *session_.reads, environment_.tracker);
  }
  return ChangeImage(session_.volume,
                     [&](Image& image) { return image.MirrorDisable(force); });
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
        Quoted(session_.volume.volume_id));
    return std::make_optional(absl::OkStatus());
  }
  const bool nobody_primary =
      view.FreshPeer(SiteRole::kNotPrimary, settle) != nullptr;
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
            "or "
            "pass the parameter force: \"true\" to turn this copy into an "
            "image "
            "of its own"
          : "this site is secondary and its peer shows no sign of life; if the "
            "peer is lost for good, pass the parameter force: \"true\""));
}

absl::Status Disabling::Run() {
  while (true) {
    context_.Step("looking at both sites");
    ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                            Look(context_, environment_, session_));
    environment_.tracker.ForgetPeerPrimary(view.tracker_key);
    std::string waiting_for = "the image is still being disabled";
    if (view.info.state == MirrorImageState::kDisabled) return absl::OkStatus();
    if (view.info.state != MirrorImageState::kDisabling) {
      if (view.info.primary) {
        ADDONS_RETURN_IF_ERROR(DisableImage(view, Force::kNo));
        continue;
      }
      if (forced_) {
        return Failed(absl::StatusCode::kUnavailable,
                      "the image is still mirrored after a forced disable that "
                      "reported success; repeat the call");
      }
      ADDONS_ASSIGN_OR_RETURN(const std::optional<absl::Status> decided,
                              DecideSecondary(view, &waiting_for));
      if (decided.has_value()) return *decided;
      if (forced_) continue;
    }
    ADDONS_RETURN_IF_ERROR(
        WaitToLookAgain(context_, environment_, waiting_for,
                        Failed(absl::StatusCode::kUnavailable, waiting_for)));
  }
}

}  // namespace

absl::Status Disable(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const DisableRequest& request) {
  return RunWithSession(
      context, environment, request.target, [&](Session& session) {
        return Disabling(context, environment, request, session).Run();
      });
}

}  // namespace addons
