#include "replication/resync.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/demotion_mark.h"
#include "replication/image_id.h"
#include "replication/rescue.h"
#include "replication/rescue_record.h"
#include "replication/session.h"

namespace addons {
namespace {

class Resynchronization {
 public:
  Resynchronization(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const ResyncRequest& request, Session& session)
      : context_(context),
        environment_(environment),
        request_(request),
        session_(session) {}

  absl::StatusOr<ResyncResult> Run();

 private:
  absl::StatusOr<ResyncResult> Decide(const MirrorView& view);
  absl::StatusOr<ResyncResult> DecideOnError(const MirrorView& view);
  absl::StatusOr<ResyncResult> Ready(const MirrorView& view);
  absl::StatusOr<ResyncResult> Request();
  absl::StatusOr<bool> DemotedIncarnation(const MirrorView& view);
  std::string PeerName(const MirrorView& view) const;
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const ResyncRequest& request_;
  Session& session_;
};

/// Not copied yet, or being copied.
bool CopyRunning(const MirrorView& view) {
  if (view.info.state == MirrorImageState::kCreating) return true;
  const MirrorSnapshot* newest = view.Newest();
  const bool incomplete =
      newest != nullptr && !newest->complete &&
      (newest->kind == MirrorSnapshotKind::kNonPrimary ||
       newest->kind == MirrorSnapshotKind::kNonPrimaryDemoted);
  if (!view.LocalDaemonUp()) return incomplete;
  const MirrorStatusState state = view.local->status.state;
  return incomplete || state == MirrorStatusState::kSyncing ||
         state == MirrorStatusState::kStartingReplay;
}

bool WholeCopy(const MirrorView& view) {
  if (view.info.mode == MirrorMode::kJournal) return true;
  const MirrorSnapshot* newest = view.Newest();
  return newest != nullptr && newest->complete;
}

/// A peer that is up and says `role` now.
bool PeerIs(const MirrorView& view, SiteRole role, SteadyDuration settle) {
  const SiteView* peer = view.FreshPeer(role, settle);
  return peer != nullptr && peer->status.up;
}

ResyncResult NotReady(std::string message) {
  return ResyncResult{false, std::move(message)};
}

std::string Resynchronization::PeerName(const MirrorView& view) const {
  if (view.peers.empty()) return "the peer site";
  return SiteName(*session_.reads, view.peers.front().status.mirror_uuid);
}

absl::Status Resynchronization::Failed(absl::StatusCode code,
                                       const std::string& reason) const {
  return FailedTo("resync", session_.volume, code, reason);
}

absl::StatusOr<bool> Resynchronization::DemotedIncarnation(
    const MirrorView& view) {
  auto image = session_.reads->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_ASSIGN_OR_RETURN(const auto saved, (*image)->Metadata(kDemotionMark));
  return saved == DemotionMark(view.created);
}

absl::StatusOr<ResyncResult> Resynchronization::Ready(const MirrorView& view) {
  ADDONS_RETURN_IF_ERROR(CorrectImageId(context_, session_, view.image_id));
  // A state before this one, which nobody went back to.
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (rescue.has_value() && !RescueIsLive(*rescue, view)) {
    ADDONS_RETURN_IF_ERROR(Rescue(context_, environment_, session_).Remove());
  }
  return ResyncResult{true, "this copy is in step with its peer"};
}

absl::StatusOr<ResyncResult> Resynchronization::Request() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("requesting the resync");
  Log().info(
      "requesting a resync: rbd-mirror deletes this copy and makes it anew "
      "volume={}",
      Quoted(session_.volume.volume_id));
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool,
                          session_.volume.OpenPool(Access::kMutate));
  // A read-only handle suffices: a writable open of a secondary can get the
  // local rbd-mirror blocklisted.
  auto image = pool->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  ADDONS_RETURN_IF_ERROR((*image)->MirrorResync());
  ADDONS_RETURN_IF_ERROR((*image)->Close());
  return NotReady("resync requested");
}

absl::StatusOr<ResyncResult> Resynchronization::DecideOnError(
    const MirrorView& view) {
  const SteadyDuration settle = environment_.options.settle_time;
  // A report that is older than the image is about its predecessor.
  const bool current = view.local->status.last_update >= view.created.seconds;
  bool broken = view.local->role == SiteRole::kSplitBrain;
  if (!broken) {
    ADDONS_ASSIGN_OR_RETURN(broken, DemotedIncarnation(view));
  }
  if (!current)
    return NotReady("waiting for rbd-mirror to report on the new copy");
  const std::string text = DescriptionText(view.local->status.description);
  if (!broken) {
    return Failed(
        absl::StatusCode::kUnavailable,
        absl::StrCat("rbd-mirror of this site reports an error: ", text));
  }
  if (request_.force == Force::kNo) {
    return NotReady(absl::StrCat("rbd-mirror reports '", text,
                                 "': this copy must be made anew, which takes "
                                 "force (autoResync: true)"));
  }
  if (!PeerIs(view, SiteRole::kPrimary, settle)) {
    return Failed(
        absl::StatusCode::kUnavailable,
        absl::StrCat(PeerName(view),
                     " is not known to be alive and primary; a resync "
                     "deletes this copy and needs a living source, so "
                     "none was requested"));
  }
  return Request();
}

absl::StatusOr<ResyncResult> Resynchronization::Decide(const MirrorView& view) {
  const SteadyDuration settle = environment_.options.settle_time;
  if (!view.enabled() && !view.resync_requested) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  "replication is not enabled");
  }
  if (view.info.primary) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  "the image is primary on this site; demote it first");
  }
  if (view.resync_requested) {
    if (!view.peers.empty() && !view.AnyFreshPeer(settle)) {
      return Failed(
          absl::StatusCode::kUnavailable,
          absl::StrCat("a resync is requested, but ", PeerName(view),
                       " has not reported for at least ",
                       std::chrono::duration_cast<std::chrono::seconds>(
                           view.peers.front().age)
                           .count(),
                       " s; it goes on when that site is back"));
    }
    return NotReady("a resync is requested already");
  }
  if (CopyRunning(view)) {
    return NotReady(
        absl::StrCat("the copy is being made; ", view.CopyProgress()));
  }
  if (view.LocalDaemonUp() && WholeCopy(view)) {
    if (view.local->status.state == MirrorStatusState::kReplaying &&
        !IsSyncing(view.local->status) &&
        PeerIs(view, SiteRole::kPrimary, settle)) {
      return Ready(view);
    }
    if (view.local->role == SiteRole::kNotPrimary &&
        PeerIs(view, SiteRole::kNotPrimary, settle)) {
      return Ready(view);
    }
  }
  if (view.local.has_value() &&
      view.local->status.state == MirrorStatusState::kError) {
    return DecideOnError(view);
  }
  if (view.local.has_value() && !view.local->status.up) {
    return Failed(absl::StatusCode::kUnavailable,
                  "rbd-mirror of this site is down, nothing is being copied; "
                  "start it");
  }
  return NotReady("waiting for both sites to report what they see");
}

absl::StatusOr<ResyncResult> Resynchronization::Run() {
  context_.Step("looking at both sites");
  const auto view =
      LookAt(session_.volume, *session_.reads, environment_.tracker);
  if (absl::IsNotFound(view.status())) {
    // The journal knows the volume: rbd-mirror has deleted the image and has
    // not made it anew yet.
    return NotReady("the image is absent; rbd-mirror is about to make it anew");
  }
  ADDONS_RETURN_IF_ERROR(view.status());
  environment_.tracker.ForgetPeerPrimary(view->tracker_key);
  return Decide(*view);
}

}  // namespace

absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request) {
  ResyncResult result;
  ADDONS_RETURN_IF_ERROR(RunWithSession(
      context, environment, request.target,
      [&](Session& session) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(
            result,
            Resynchronization(context, environment, request, session).Run());
        return absl::OkStatus();
      }));
  return result;
}

}  // namespace addons
