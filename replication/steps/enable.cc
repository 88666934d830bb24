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
#include "replication/decide/enable.h"
#include "replication/look/leftover.h"
#include "replication/look/record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/mirror_client_guard.h"
#include "replication/steps/mirror_snapshot.h"
#include "replication/steps/parent.h"
#include "replication/steps/run_steps.h"
#include "replication/steps/schedule_store.h"
#include "replication/steps/write_record.h"

namespace addons {

absl::Status AwaitHalfEnable(Session& session) {
  const SteadyDuration gap = session.environment.options.poll_interval;
  const SteadyTime since = session.memory.half_enabled->since;
  session.context.Step("looking once more at a half-done enable");
  return session.context.LookAgainAfter(
      gap - (session.context.clock().Now() - since));
}

namespace {

/// One enable of one volume, from the first look to the answer: RunSteps().
class Enabling {
 public:
  Enabling(const EnableRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next);

  Done done;

 private:
  absl::Status ReadPool();
  absl::Status ClearHalfEnable();
  absl::StatusOr<std::string> LackOfRoom() const;
  absl::Status NoteForWhom(Image& image) const;
  absl::Status TakeOverFromGroup();
  absl::Status EnableNow();
  absl::Status NameUnanswered(absl::Status enabled) const;
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const EnableRequest& request_;
  Session& session_;
  MirrorView view_;
  bool fresh_ = false;  // view_ is a look after the last step
  std::optional<PoolSeen> pool_;
  bool refused_ = false;  // by librbd, with EINVAL
};

absl::Status Enabling::Failed(absl::StatusCode code,
                              const std::string& reason) const {
  return FailedTo("enable replication of", session_.volume, code, reason);
}

absl::Status Enabling::See() {
  if (std::exchange(fresh_, false)) return absl::OkStatus();
  context_.Step("looking at the image");
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  environment_.series.ForgetPrimary(view_.timeline_key);
  return absl::OkStatus();
}

absl::StatusOr<Next> Enabling::Judge() {
  const ResolvedVolume& volume = session_.volume;
  EnableSeen seen{.view = view_,
                  .mode = request_.parameters.mode,
                  .scope = request_.scope,
                  .pool = volume.pool_name};
  seen.pool_and_namespace =
      volume.rados_namespace.empty()
          ? volume.pool_name
          : absl::StrCat(volume.pool_name, "/", volume.rados_namespace);
  seen.look_gap = environment_.options.poll_interval;
  if (HalfEnabled(view_)) {
    seen.unchanged_for =
        UnchangedFor(absl::StrCat(view_.image_id, "/", view_.snapshots.size()),
                     context_.clock().Now(), &session_.memory.half_enabled);
  }
  seen.read = pool_;
  seen.refused = refused_;
  seen.done = done;
  return DecideEnable(seen);
}

absl::Status Enabling::Await(const Next& next) {
  const absl::Status pending = Failed(next.code, next.reason);
  if (next.step != Step::kAwaitHalfEnable) {
    return WaitToLookAgain(session_, next.reason, pending);
  }
  context_.SetPending(pending);
  return AwaitHalfEnable(session_);
}

absl::Status Enabling::Act(const Next& next) {
  switch (next.step) {
    case Step::kClearHalfEnable:
      return ClearHalfEnable();
    case Step::kTakeOverFromGroup:
      fresh_ = true;
      return TakeOverFromGroup();
    case Step::kRememberClone:
      fresh_ = true;
      return RememberClone(session_, &view_);
    case Step::kReadPool:
      fresh_ = true;
      return ReadPool();
    case Step::kPrepareParent:
      fresh_ = true;
      return PrepareParent(session_, view_, request_.parameters.mode,
                           request_.parameters.flatten);
    case Step::kEnable:
      return EnableNow();
    default:
      return NoSuchStep();
  }
}

absl::Status Enabling::Answer(const Next& next) {
  if (next.code != absl::StatusCode::kOk) return Failed(next.code, next.reason);
  // Only now: to sweep is a change, before which a group asks all its members.
  SweepSchedules(session_);
  return absl::OkStatus();
}

absl::Status Enabling::ReadPool() {
  context_.SetPending(absl::OkStatus());
  PoolSeen pool;
  ADDONS_ASSIGN_OR_RETURN(pool.mode, session_.reads->MirrorMode());
  if (pool.mode == PoolMirrorMode::kImage) {
    ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
    pool.has_peer = !peers.empty();
  }
  if (pool.has_peer) {
    ADDONS_ASSIGN_OR_RETURN(pool.no_room, LackOfRoom());
  }
  pool_ = std::move(pool);
  return absl::OkStatus();
}

/// Takes an enable back that died in the middle, by force: no peer has a copy,
/// and there is nothing that it could copy.
absl::Status Enabling::ClearHalfEnable() {
  // With the lease, which is taken next, it is looked at as carefully.
  session_.memory.half_enabled.reset();
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  Log().warn("clearing a half-done enable volume={}",
             Quoted(session_.volume.volume_id.text()));
  const MirrorClientGuard guard(session_.cluster(), *session_.reads,
                                environment_.timeline);
  return ChangeImage(session_.volume, [](Image& image) {
    return image.MirrorDisable(Force::kYes);
  });
}

/// For the first mirror snapshot and the next, without which nothing is copied;
/// empty: there is room.
absl::StatusOr<std::string> Enabling::LackOfRoom() const {
  if (request_.parameters.mode != MirrorMode::kSnapshot) return "";
  SnapshotRoom room;
  ADDONS_ASSIGN_OR_RETURN(room.limit,
                          ReadSnapshotLimit(*session_.reads, view_.image_id));
  if (!room.limit.has_value()) return "";
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Image> image,
      session_.reads->OpenImageReadOnly(session_.volume.image_name()));
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image->Snapshots());
  room.present = snapshots.size();
  return room.For(2) ? ""
                     : DescribeNoRoom(room, "replication makes more than",
                                      session_.volume.ImageSpec());
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
  return HasGroupMark(view_) ? image.RemoveMetadata(kGroupMark)
                             : absl::OkStatus();
}

absl::Status Enabling::TakeOverFromGroup() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("noting that the replication is the volume's own");
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [](Image& image) {
    return image.RemoveMetadata(kGroupMark);
  }));
  view_.marks.erase(kGroupMark);
  return absl::OkStatus();
}

absl::Status Enabling::EnableNow() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("enabling");
  const auto enable = [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(NoteForWhom(image));
    // Of an earlier enabling nothing counts.
    MirrorView before = view_;
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
  refused_ = !enabled.ok();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  fresh_ = true;
  if (refused_ && view_.info.state == MirrorImageState::kDisabled) {
    return enabled;
  }
  if (view_.enabled()) {
    NoteRoleChange(session_, "off", RoleName(view_), "enabled");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request) {
  return RunWithSession(context, environment, request.target,
                        "enable replication of",
                        [&](Session& session) {
                          Enabling enabling(request, session);
                          return RunSteps(enabling);
                        },
                        {.changes = LastRole::kOff});
}

}  // namespace addons
