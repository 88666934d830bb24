#include "replication/steps/enable.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "replication/decide/enable.h"
#include "replication/look/leftover.h"
#include "replication/look/record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/mirror_client_guard.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/ceph_faults/stale_schedules.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/run_steps.h"
#include "replication/steps/write_record.h"
#include "volume/told_entry.h"

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
class Enabling final : public VerbRun<EnableRequest> {
 public:
  Enabling(const EnableRequest& request, Session& session)
      : VerbRun("enable replication of", request, session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next);

 private:
  absl::Status ReadPool();
  absl::Status ClearHalfEnable();
  absl::StatusOr<std::string> LackOfRoom() const;
  MetadataChanges NotesBefore() const;
  absl::Status TakeOverFromGroup();
  absl::Status NoteVolume();
  absl::Status TellScheduleOfRequest(Image& image) const;
  absl::Status EnableNow();
  absl::Status NameUnanswered(absl::Status enabled) const;

  MirrorView view_;
  std::optional<PoolSeen> pool_;
  bool refused_ = false;  // by librbd, with EINVAL
};

absl::Status Enabling::See() {
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
    seen.unchanged_for = UnchangedFor(view_, context_.clock().Now(),
                                      &session_.memory.half_enabled);
  }
  seen.read = pool_;
  seen.schedule_due =
      request_.parameters.schedule.has_value() &&
      (done.Of(Step::kEnable) > 0 || !WantedSchedule(view_).has_value());
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
      fresh = true;
      return TakeOverFromGroup();
    case Step::kRememberClone:
      fresh = true;
      return RememberClone(session_, &view_);
    case Step::kNoteVolume:
      fresh = true;
      return NoteVolume();
    case Step::kKeepSchedule:
      fresh = true;
      return KeepSchedule(session_, request_.target.user, view_,
                          *request_.parameters.schedule, request_.scope);
    case Step::kReadPool:
      fresh = true;
      return ReadPool();
    case Step::kPrepareParent:
      fresh = true;
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
  return ChangeAsSeen(
             session_, view_,
             [](Image& image) { return image.MirrorDisable(Force::kYes); })
      .status();
}

/// For the first mirror snapshot and the next, without which nothing is copied;
/// empty: there is room.
absl::StatusOr<std::string> Enabling::LackOfRoom() const {
  if (request_.parameters.mode != MirrorMode::kSnapshot) return "";
  ADDONS_ASSIGN_OR_RETURN(SnapshotRoom room,
                          ReadSnapshotRoom(*session_.reads, view_));
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
  const auto clients = FindClients(session_, view_.image_id);
  if (!clients.ok() || clients->workloads.empty()) return enabled;
  return Failed(absl::StatusCode::kUnavailable,
                absl::StrCat("a client that is to pause its writes for the "
                             "first mirror snapshot does not answer (a quiesce "
                             "hook, as of `rbd-nbd map --quiesce`): ",
                             DescribeWatchers(clients->workloads)));
}

/// What is noted before mirroring is on, so that a call that dies leaves no
/// doubt: for whom it is, and what the other site knows the volume by.
MetadataChanges Enabling::NotesBefore() const {
  MetadataChanges notes;
  if (request_.scope == VerbScope::kGroupMember) {
    notes[kGroupMark] = session_.volume.uuid;
  } else if (HasGroupMark(view_)) {
    notes[kGroupMark] = std::nullopt;
  }
  if (!view_.volume_note_due.empty()) {
    notes[kVolumeNoteKey] = view_.volume_note_due;
  }
  return notes;
}

absl::Status Enabling::TakeOverFromGroup() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("noting that the replication is the volume's own");
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [](Image& image) {
    return image.ChangeMetadata({{kGroupMark, std::nullopt}});
  }));
  view_.marks.erase(kGroupMark);
  return absl::OkStatus();
}

/// Replication is on already, and does not depend on it: the next call tries
/// again.
absl::Status Enabling::NoteVolume() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("noting what the other site knows the volume by");
  const absl::Status noted = ChangeImage(session_.volume, [this](Image& image) {
    return image.ChangeMetadata({{kVolumeNoteKey, view_.volume_note_due}});
  });
  if (!noted.ok()) {
    Log().warn(
        "not noted what the other site can adopt the volume by volume={}: {}",
        Quoted(session_.volume.volume_id.text()), Quoted(noted.message()));
    return absl::OkStatus();
  }
  view_.marks[kVolumeNoteKey] = view_.volume_note_due;
  view_.volume_note_due.clear();
  return absl::OkStatus();
}

/// Under the id that enabling has given it.
absl::Status Enabling::TellScheduleOfRequest(Image& image) const {
  if (!request_.parameters.schedule.has_value()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const MirrorImageInfo info, image.MirrorInfo());
  return image.ChangeMetadata(
      {{kScheduleMark,
        ToldSchedule(info.global_id, *request_.parameters.schedule)}});
}

absl::Status Enabling::EnableNow() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("enabling");
  const auto enable = [&](Image& image) -> absl::Status {
    // Of an earlier enabling nothing counts.
    MirrorView before = view_;
    before.info.global_id.clear();
    before.own = LocalRecord();
    LocalRecord record;
    record.first_copy_awaited = true;
    if (request_.parameters.schedule.has_value()) {
      record.schedule = ScheduleNote(*request_.parameters.schedule);
    }
    ADDONS_RETURN_IF_ERROR(
        WriteLocalRecord(image, record, &before, NotesBefore()));
    ADDONS_RETURN_IF_ERROR(image.MirrorEnable(request_.parameters.mode));
    // KeepSchedule() tries it again.
    TellScheduleOfRequest(image).IgnoreError();
    return absl::OkStatus();
  };
  const auto enabled = ChangeAsSeen(session_, view_, enable);
  // EINVAL is also what librbd says when somebody else was faster.
  if (!enabled.ok() && CephErrno(enabled.status()) != EINVAL) {
    return NameUnanswered(enabled.status());
  }
  refused_ = !enabled.ok();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  fresh = true;
  if (refused_ && view_.info.state == MirrorImageState::kDisabled) {
    return enabled.status();
  }
  if (enabled.value_or(true) && view_.enabled()) {
    NoteRoleChange(session_, RoleChange{RoleVerb::kEnable}, "off",
                   RoleName(view_), "enabled");
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
