#include "replication/enable.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/parent.h"
#include "replication/session.h"

namespace addons {
namespace {

class Enabling {
 public:
  Enabling(OperationContext& context, ReplicationEnvironment& environment,
           const EnableRequest& request, Session& session)
      : context_(context),
        environment_(environment),
        request_(request),
        session_(session) {}

  absl::Status Run();

 private:
  absl::Status CheckPool();
  absl::Status CheckMode(const MirrorView& view) const;
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const EnableRequest& request_;
  Session& session_;
};

/// An earlier enable died between its first and its last step: librbd leaves
/// the image "creating" although nobody creates it. A real creation is a copy
/// from a peer, has a report of the local rbd-mirror and no snapshot of its
/// own.
bool HalfEnabled(const MirrorView& view) {
  if (view.info.state != MirrorImageState::kCreating) return false;
  const MirrorSnapshot* newest = view.Newest();
  if (newest == nullptr) return !view.local.has_value();
  return newest->kind == MirrorSnapshotKind::kPrimary;
}

absl::Status Enabling::Failed(absl::StatusCode code,
                              const std::string& reason) const {
  return FailedTo("enable replication of", session_.volume, code, reason);
}

absl::Status Enabling::CheckMode(const MirrorView& view) const {
  if (view.info.mode == request_.parameters.mode) return absl::OkStatus();
  return Failed(absl::StatusCode::kFailedPrecondition,
                absl::StrCat("it is mirrored in ", Name(view.info.mode),
                             " mode already; disable replication before you "
                             "change the parameter mirroringMode to ",
                             Name(request_.parameters.mode)));
}

absl::Status Enabling::CheckPool() {
  const std::string pool = session_.volume.rados_namespace.empty()
                               ? session_.volume.pool_name
                               : absl::StrCat(session_.volume.pool_name, "/",
                                              session_.volume.rados_namespace);
  ADDONS_ASSIGN_OR_RETURN(const PoolMirrorMode mode,
                          session_.reads->MirrorMode());
  if (mode == PoolMirrorMode::kDisabled || mode == PoolMirrorMode::kUnknown) {
    return Failed(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("pool '", pool,
                     "' is not mirrored; run `rbd mirror pool enable ", pool,
                     " image`"));
  }
  if (mode == PoolMirrorMode::kPool) {
    return Failed(absl::StatusCode::kFailedPrecondition,
                  absl::StrCat("pool '", pool,
                               "' is mirrored as a whole, not per image; run "
                               "`rbd mirror pool enable ",
                               pool, " image`"));
  }
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
  if (peers.empty()) {
    return Failed(
        absl::StatusCode::kFailedPrecondition,
        absl::StrCat("pool '", session_.volume.pool_name,
                     "' has no peer to replicate to; run `rbd mirror pool peer "
                     "bootstrap create ",
                     session_.volume.pool_name,
                     "` here and `... bootstrap import` on the other site"));
  }
  return absl::OkStatus();
}

absl::Status Enabling::Run() {
  while (true) {
    context_.Step("looking at the image");
    ADDONS_ASSIGN_OR_RETURN(const MirrorView view,
                            Look(context_, environment_, session_));
    environment_.tracker.ForgetPeerPrimary(view.tracker_key);
    if (HalfEnabled(view)) {
      ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
      Log().warn("clearing a half-done enable volume={}",
                 Quoted(session_.volume.volume_id));
      ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [](Image& image) {
        return image.MirrorDisable(Force::kYes);
      }));
      continue;
    }
    if (view.enabled()) return CheckMode(view);
    if (view.info.state == MirrorImageState::kDisabled &&
        !view.resync_requested) {
      break;
    }
    const std::string reason =
        view.resync_requested
            ? "rbd-mirror is about to replace the image (resync)"
            : "replication is being disabled";
    ADDONS_RETURN_IF_ERROR(
        WaitToLookAgain(context_, environment_, reason,
                        Failed(absl::StatusCode::kUnavailable, reason)));
  }

  context_.SetPending(absl::OkStatus());
  ADDONS_RETURN_IF_ERROR(CheckPool());
  ADDONS_RETURN_IF_ERROR(PrepareParent(context_, environment_, session_,
                                       request_.parameters.flatten));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("enabling");
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [&](Image& image) {
    return image.MirrorEnable(request_.parameters.mode);
  }));
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after,
                          Look(context_, environment_, session_));
  if (!after.enabled()) {
    return Failed(absl::StatusCode::kUnavailable,
                  absl::StrCat("the image is ", Name(after.info.state),
                               " after an enable that reported success; repeat "
                               "the call"));
  }
  return CheckMode(after);
}

}  // namespace

absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request) {
  return RunWithSession(
      context, environment, request.target, [&](Session& session) {
        return Enabling(context, environment, request, session).Run();
      });
}

}  // namespace addons
