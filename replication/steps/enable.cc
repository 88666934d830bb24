#include "replication/steps/enable.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/mirror_clients.h"
#include "replication/look/leftover.h"
#include "replication/look/record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/mirror_client_guard.h"
#include "replication/steps/mirror_snapshot.h"
#include "replication/steps/parent.h"
#include "replication/steps/schedule_store.h"
#include "replication/steps/write_record.h"

namespace addons {

absl::StatusOr<bool> StaysHalfEnabled(Session& session,
                                      const MirrorView& seen) {
  const SteadyTime now = session.context.clock().Now();
  const SteadyDuration gap = session.environment.options.poll_interval;
  std::optional<SameFor>& known = session.memory.half_enabled;
  std::string look = absl::StrCat(seen.image_id, "/", seen.snapshots.size());
  if (!known.has_value() || known->look != look) {
    known = SameFor{std::move(look), now};
  }
  if (now - known->since >= gap) {
    // With the lease, which is taken next, it is looked at as carefully.
    known.reset();
    return true;
  }
  session.context.Step("looking once more at a half-done enable");
  ADDONS_RETURN_IF_ERROR(
      session.context.LookAgainAfter(gap - (now - known->since)));
  return false;
}

absl::Status ClearHalfEnable(Session& session) {
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  Log().warn("clearing a half-done enable volume={}",
             Quoted(session.volume.volume_id.text()));
  const MirrorClientGuard guard(session.cluster(), *session.reads,
                                session.environment.timeline);
  return ChangeImage(session.volume, [](Image& image) {
    return image.MirrorDisable(Force::kYes);
  });
}

namespace {

class Enabling {
 public:
  Enabling(const EnableRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session) {}

  absl::Status Run();

 private:
  absl::Status CheckPool();
  absl::Status CheckMode(const MirrorView& view) const;
  absl::Status CheckRoom(const MirrorView& view) const;
  absl::Status NoteForWhom(Image& image) const;
  absl::Status TakeOverFromGroup(const MirrorView& view);
  absl::Status NameUnanswered(absl::Status enabled) const;
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const EnableRequest& request_;
  Session& session_;
  bool has_group_mark_ = false;
};

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
  if (mode == PoolMirrorMode::kUnknown) {
    return Failed(absl::StatusCode::kUnavailable,
                  absl::StrCat("pool '", pool,
                               "' is mirrored in a way that this build does "
                               "not know"));
  }
  if (mode == PoolMirrorMode::kDisabled) {
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
                     "' has no peer to replicate to; run `rbd mirror pool "
                     "enable ",
                     session_.volume.pool_name,
                     " image` on both sites, also where only namespaces of "
                     "the pool are mirrored, then `rbd mirror pool peer "
                     "bootstrap create ",
                     session_.volume.pool_name,
                     "` here and `... bootstrap import` on the other site"));
  }
  return absl::OkStatus();
}

/// For the first mirror snapshot and the next, without which nothing is copied.
absl::Status Enabling::CheckRoom(const MirrorView& view) const {
  if (request_.parameters.mode != MirrorMode::kSnapshot) {
    return absl::OkStatus();
  }
  SnapshotRoom room;
  ADDONS_ASSIGN_OR_RETURN(room.limit,
                          ReadSnapshotLimit(*session_.reads, view.image_id));
  if (!room.limit.has_value()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session_.reads->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image->Snapshots());
  room.present = snapshots.size();
  if (room.For(2)) return absl::OkStatus();
  return Failed(absl::StatusCode::kFailedPrecondition,
                DescribeNoRoom(room, "replication makes more than",
                               session_.volume.ImageSpec()));
}

/// librbd has its clients pause their writes for the first mirror snapshot, and
/// gives up when one does not answer; then mirroring is off.
absl::Status Enabling::NameUnanswered(absl::Status enabled) const {
  if (CephErrno(enabled) != ETIMEDOUT) return enabled;
  const auto clients = FindClients(session_);
  if (!clients.ok() || clients->workloads.empty()) return enabled;
  return Failed(absl::StatusCode::kUnavailable,
                absl::StrCat("a client that is to pause its writes for the "
                             "first mirror snapshot does not answer (a quiesce "
                             "hook, as of `rbd-nbd map --quiesce`): ",
                             DescribeWatchers(clients->workloads)));
}

/// Before mirroring is on, so that a call that dies leaves no doubt.
absl::Status Enabling::NoteForWhom(Image& image) const {
  if (request_.scope == VerbScope::kGroupMember) {
    return image.SetMetadata(kGroupMark, session_.volume.uuid);
  }
  return has_group_mark_ ? image.RemoveMetadata(kGroupMark) : absl::OkStatus();
}

/// What was mirrored for its group is asked for by itself now, and stays
/// mirrored when it leaves.
absl::Status Enabling::TakeOverFromGroup(const MirrorView& view) {
  if (request_.scope != VerbScope::kVolume || !HasGroupMark(view) ||
      !view.info.primary) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("noting that the replication is the volume's own");
  return ChangeImage(session_.volume, [](Image& image) {
    return image.RemoveMetadata(kGroupMark);
  });
}

absl::Status Enabling::Run() {
  MirrorView view;
  while (true) {
    context_.Step("looking at the image");
    ADDONS_ASSIGN_OR_RETURN(view, Look(session_));
    environment_.series.ForgetPrimary(view.timeline_key);
    if (HalfEnabled(view)) {
      context_.SetPending(Failed(absl::StatusCode::kUnavailable,
                                 "another client enables it, or died at that; "
                                 "looking once more"));
      ADDONS_ASSIGN_OR_RETURN(const bool half,
                              StaysHalfEnabled(session_, view));
      if (half) ADDONS_RETURN_IF_ERROR(ClearHalfEnable(session_));
      continue;
    }
    if (view.enabled()) {
      ADDONS_RETURN_IF_ERROR(CheckMode(view));
      ADDONS_RETURN_IF_ERROR(TakeOverFromGroup(view));
      SweepSchedules(session_);
      return RememberClone(session_, view);
    }
    if (view.info.state == MirrorImageState::kDisabled &&
        !view.resync_requested) {
      has_group_mark_ = HasGroupMark(view);
      break;
    }
    const std::string reason =
        view.resync_requested
            ? "rbd-mirror is about to replace the image (resync)"
            : kDisablingText;
    ADDONS_RETURN_IF_ERROR(WaitToLookAgain(
        session_, reason, Failed(absl::StatusCode::kUnavailable, reason)));
  }

  context_.SetPending(absl::OkStatus());
  ADDONS_RETURN_IF_ERROR(CheckPool());
  ADDONS_RETURN_IF_ERROR(CheckRoom(view));
  ADDONS_RETURN_IF_ERROR(PrepareParent(session_, view, request_.parameters.mode,
                                       request_.parameters.flatten));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("enabling");
  const auto enable = [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(NoteForWhom(image));
    // Of an earlier enabling nothing counts.
    MirrorView before = view;
    before.info.global_id.clear();
    before.own = LocalRecord();
    LocalRecord record;
    record.first_copy_awaited = true;
    ADDONS_RETURN_IF_ERROR(WriteLocalRecord(image, record, &before));
    return image.MirrorEnable(request_.parameters.mode);
  };
  absl::Status enabled = ChangeImage(session_.volume, enable);
  // EINVAL is also what librbd says when somebody else was faster.
  if (!enabled.ok() && CephErrno(enabled) != EINVAL) {
    return NameUnanswered(std::move(enabled));
  }
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
  if (!after.enabled()) {
    if (!enabled.ok() && after.info.state == MirrorImageState::kDisabled) {
      return enabled;
    }
    return Failed(absl::StatusCode::kUnavailable,
                  absl::StrCat("the image is ", Name(after.info.state),
                               enabled.ok() ? " after an enable that reported "
                                              "success; repeat the call"
                                            : ", which somebody else is "
                                              "changing; repeat the call"));
  }
  NoteRoleChange(session_, "off", RoleName(after), "enabled");
  SweepSchedules(session_);
  return CheckMode(after);
}

}  // namespace

absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request) {
  return RunWithSession(
      context, environment, request.target, "enable replication of",
      [&](Session& session) { return Enabling(request, session).Run(); },
      {.changes = LastRole::kOff});
}

}  // namespace addons
