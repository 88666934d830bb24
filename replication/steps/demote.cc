#include "replication/steps/demote.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "lease/leased_context.h"
#include "replication/decide/demote.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/promotion_rest.h"
#include "replication/schedule_store.h"
#include "replication/session.h"
#include "replication/steps/announce_refusal.h"
#include "replication/steps/ceph_faults/mirror_client_guard.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/run_steps.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

/// In the answer for a member of a group: what the other site is to be told.
constexpr char kRefusedForPayload[] = "rbd-addons/refused-for";

class Demotion final : public VerbRun<DemoteRequest> {
 public:
  Demotion(const DemoteRequest& request, Session& session)
      : VerbRun("demote", request, session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next) const;

  /// Afterwards: the workload that it refused for, or an empty text.
  const std::string& workload() const { return workload_; }

 private:
  absl::Status LookAround();
  absl::Status RefuseIfAny(const std::vector<Watcher>& workloads);
  bool MayPass(const std::vector<SnapshotSchedule>& schedules) const;
  SteadyTime AnswersBy(SteadyTime deadline) const;
  SteadyTime LastTurn(SteadyTime by, SteadyTime latest,
                      const std::vector<SnapshotSchedule>& schedules) const;
  bool MayHold(const std::string& workload);
  absl::Status HoldForWorkload(const Next& next);
  absl::Status AwaitFollower(const Next& next);
  absl::Status AwaitWorkload(const std::string& reason);
  SteadyDuration WorkloadGoneFor() const;
  absl::Status WriteNotes(Image& image, const OwnDemotionMark& mark,
                          MirrorView* written);
  absl::Status MakeRoom();
  absl::Status DemotePrimary();
  absl::Status Repair();

  bool looked_ = false;  // once at least
  SteadyTime looked_at_;
  std::string workload_;
  std::optional<RescueRecord> rescue_;  // of the rescue image
  // --- of the last look
  MirrorView view_;
  std::vector<Watcher> workloads_;  // of a primary
  bool mirror_seen_ = false;        // a primary: an rbd-mirror has it open
  bool open_by_mirror_ = false;     // likewise, and copies from it
};

absl::Status Demotion::LookAround() {
  PromotionRest& rest = session_.memory.rest;
  NoteVersion(*session_.reads, &rest);
  looked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  rest.for_workload = true;
  rest.image_id = view_.image_id;
  ImageClients clients;
  if (view_.enabled() && view_.info.primary) {
    ADDONS_ASSIGN_OR_RETURN(clients, FindClients(session_, view_.image_id));
  }
  workloads_ = std::move(clients.workloads);
  mirror_seen_ = clients.mirror;
  open_by_mirror_ = clients.mirror && view_.info.mode != MirrorMode::kJournal;
  return absl::OkStatus();
}

absl::Status Demotion::See() {
  const bool first = !std::exchange(looked_, true);
  if (first) context_.Step("looking at the image");
  ADDONS_RETURN_IF_ERROR(LookAround());
  if (!first || !view_.enabled()) return absl::OkStatus();
  environment_.series.ForgetPrimary(view_.timeline_key);
  ADDONS_ASSIGN_OR_RETURN(
      rescue_,
      ReadRescueRecord(*session_.reads, session_.volume.image_name(), &view_));
  return absl::OkStatus();
}

absl::StatusOr<Next> Demotion::Judge() {
  const ImageName& image = session_.volume.image_name();
  const SiteNameFn names = SiteNamesOf(*session_.reads);
  DemoteSeen seen{.view = view_,
                  .rescue = rescue_,
                  .site_name = names,
                  .settle = environment_.options.settle_time,
                  .spec = session_.volume.ImageSpec(),
                  .rescue_spec = session_.reads->Spec(RescueImageName(image)),
                  .image = image,
                  .workloads = workloads_,
                  .open_by_mirror = open_by_mirror_,
                  .published = view_.published};
  seen.begun = context_.mutating();
  seen.awaited_workload =
      WorkloadGoneFor() >= environment_.options.watch_timeout;
  seen.done = done;
  if (view_.info.primary && !seen.begun && workloads_.empty() &&
      !FollowerSeen(seen)) {
    ADDONS_ASSIGN_OR_RETURN(const auto peers, session_.reads->MirrorPeers());
    seen.no_peers = peers.empty();
  }
  return DecideDemote(seen);
}

absl::Status Demotion::Answer(const Next& next) const { return Told(next); }

absl::Status Demotion::Await(const Next& next) {
  switch (next.step) {
    case Step::kAwaitWorkloadEnd:
      return HoldForWorkload(next);
    case Step::kAwaitFollower:
      return AwaitFollower(next);
    case Step::kAwaitReturn:
      return AwaitWorkload(next.reason);
    default:
      return NoSuchStep();
  }
}

absl::Status Demotion::Act(const Next& next) {
  fresh = true;
  switch (next.step) {
    case Step::kRepair:
      return Repair();
    case Step::kDemote:
      ADDONS_RETURN_IF_ERROR(MakeRoom());
      return DemotePrimary();
    default:
      return NoSuchStep();
  }
}

absl::Status Demotion::Repair() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("repairing a half-done demotion");
  Log().warn("repairing a half-done demotion volume={} snapshot={}",
             Quoted(session_.volume.volume_id.text()), view_.Newest()->id);
  const auto promote = [this] {
    const MirrorClientGuard guard(session_.cluster(), *session_.reads,
                                  environment_.timeline);
    return ChangeAsSeen(session_, view_, [](Image& image) {
      return image.MirrorPromote(Force::kNo);
    });
  };
  ADDONS_ASSIGN_OR_RETURN(const bool promoted, promote());
  const std::string role_before(RoleName(view_));
  ADDONS_RETURN_IF_ERROR(LookAround());
  if (promoted && view_.info.primary) {
    NoteRoleChange(session_, RoleChange{RoleVerb::kPromote}, role_before,
                   RoleName(view_), "promoted, to repair a half-done demotion");
  }
  return absl::OkStatus();
}

/// Of clients that have come in the last moment. The next call sees whether
/// they stay, and tells the other site.
absl::Status Demotion::RefuseIfAny(const std::vector<Watcher>& workloads) {
  if (workloads.empty()) return absl::OkStatus();
  return Failed(absl::StatusCode::kFailedPrecondition,
                DescribeUse(DescribeWatchers(workloads), view_));
}

/// Whether those who have the image open may be no workload: Ceph's manager
/// opens it to make a scheduled mirror snapshot, and an rbd-mirror that died
/// is known for one no more while its watch of the image lives on.
bool Demotion::MayPass(const std::vector<SnapshotSchedule>& schedules) const {
  if (!mirror_seen_) return true;
  if (schedules.empty()) return false;
  // The manager, too, waits for the watch of a client that died.
  const WallTime then = context_.clock().WallNow() + kFromManagersSnapshot -
                        environment_.options.watch_timeout;
  return UntilMirrorSnapshot(then, schedules) != SteadyDuration::zero();
}

/// When a call that `deadline` ends, and that a workload keeps from going on,
/// turns to telling the other site: as late as may be useful, and not after the
/// last moment from which a mirror snapshot can still carry that.
SteadyTime Demotion::AnswersBy(SteadyTime deadline) const {
  const ReplicationOptions& options = environment_.options;
  const SteadyTime now = context_.clock().Now();
  const SteadyTime latest = deadline - options.first_refusal;
  std::vector<SnapshotSchedule> schedules;
  if (view_.info.mode == MirrorMode::kSnapshot) {
    schedules = ReadStoredSchedulesThatApply(session_.volume, view_.image_id);
  }
  const SteadyDuration patience =
      MayPass(schedules) ? options.passing_client : options.first_refusal;
  return std::max(now, LastTurn(std::min<SteadyTime>(latest, now + patience),
                                latest, schedules));
}

/// The last moment until `by` from which a mirror snapshot can be made until
/// `latest`, and shortly after it as well; a minute before it at the earliest.
SteadyTime Demotion::LastTurn(
    SteadyTime by, SteadyTime latest,
    const std::vector<SnapshotSchedule>& schedules) const {
  if (view_.info.mode != MirrorMode::kSnapshot) return by;
  const SteadyTime now = context_.clock().Now();
  const SteadyTime earliest = by - std::chrono::minutes(1);
  // To look once more, and to write the note, takes some of it.
  constexpr std::chrono::seconds kToTell{5};
  const auto comes_from = [&](SteadyTime at) {
    const WallTime wall = context_.clock().WallNow() + (at - now);
    return at + UntilMirrorSnapshot(wall, schedules) <= latest;
  };
  const auto turn_comes = [&](SteadyTime at) {
    return comes_from(at) && comes_from(at + kToTell);
  };
  while (by > earliest && !turn_comes(by)) by -= std::chrono::seconds(1);
  return by;
}

/// Whether a call that `workload` keeps from going on waits for its end. A call
/// that has to tell the other site is answered with that, and before its
/// callers leave.
bool Demotion::MayHold(const std::string& workload) {
  const std::optional<SteadyTime> deadline = context_.LatestDeadline();
  if (workload.empty() || !request_.may_hold || context_.mutating() ||
      !deadline.has_value()) {
    return false;
  }
  std::optional<SteadyTime>& answer_by = session_.memory.answer_by;
  if (RefusalIsTold(view_, workload, context_.clock().WallNow())) {
    answer_by.reset();
    return true;
  }
  if (!answer_by.has_value()) answer_by = AnswersBy(*deadline);
  return context_.clock().Now() < *answer_by;
}

absl::Status Demotion::HoldForWorkload(const Next& next) {
  const std::string workload = DescribeWatchers(workloads_);
  if (!MayHold(workload)) {
    workload_ = workload;
    return Failed(next.code, next.reason);
  }
  // One that is seen has not gone.
  session_.memory.workload_gone_since.reset();
  TellWait(session_, "waiting until the workload ends",
           session_.memory.answer_by);
  absl::Status pending = Failed(next.code, next.reason);
  context_.SetPending(pending);
  NoteRest(session_, looked_at_, pending, &session_.memory.rest);
  return context_.LookAgainAfter(
      UntilNextLook(context_, environment_, session_.memory.answer_by));
}

/// Beside a site that follows only after this call, the other site must know
/// of the demotion: the next call may come later than that site waits.
absl::Status Demotion::AwaitFollower(const Next& next) {
  const std::optional<SteadyTime> deadline = context_.LatestDeadline();
  std::optional<SteadyTime> by;
  if (deadline.has_value() && !context_.mutating() &&
      !RefusalIsTold(view_, kAwaitsFollower, context_.clock().WallNow())) {
    by = *deadline - environment_.options.first_refusal;
    // An earlier call has noted it, and it has not travelled.
    if (view_.refused_demotion.has_value()) {
      by = LastTurn(
          *by, *by,
          ReadStoredSchedulesThatApply(session_.volume, view_.image_id));
    }
    if (*by <= context_.clock().Now()) {
      workload_ = kAwaitsFollower;
      return Failed(next.code, next.reason);
    }
  }
  TellWait(session_, "waiting until the peer follows this site", by);
  context_.SetPending(Failed(next.code, next.reason));
  return context_.LookAgainAfter(UntilNextLook(context_, environment_, by));
}

SteadyDuration Demotion::WorkloadGoneFor() const {
  const std::optional<SteadyTime>& since = session_.memory.workload_gone_since;
  return since.has_value() ? context_.clock().Now() - *since
                           : SteadyDuration::zero();
}

absl::Status Demotion::AwaitWorkload(const std::string& reason) {
  if (!session_.memory.workload_gone_since.has_value()) {
    session_.memory.workload_gone_since = context_.clock().Now();
    Log().warn(
        "volume={} is still marked as published by key={}, but nobody has it "
        "open",
        Quoted(session_.volume.volume_id.text()),
        Quoted(PublishedMark(view_.published)));
  }
  const SteadyDuration left =
      environment_.options.watch_timeout - WorkloadGoneFor();
  TellWait(session_, "waiting whether the workload comes back",
           context_.clock().Now() + left, "the demotion goes on");
  context_.SetPending(Failed(absl::StatusCode::kUnavailable, reason));
  return context_.LookAgainAfter(left);
}

/// What a demotion leaves in the metadata.
absl::Status Demotion::WriteNotes(Image& image, const OwnDemotionMark& mark,
                                  MirrorView* written) {
  // The note that this had to wait goes with the demotion, and so does since
  // when the image was primary: the snapshots that show that a note is about an
  // earlier term are dropped in the next one.
  MetadataChanges notes = {{kRefusedDemotionKey, std::nullopt}};
  // The other site is to have it when it is promoted.
  notes.merge(MountRestrictionDue(view_));
  if (!view_.marks.contains(kDemotionMark)) {
    notes[kDemotionMark] = DemotionMark(view_.created);
  }
  // It tells a later promotion here that the peer may have been promoted
  // meanwhile.
  LocalRecord record = view_.own;
  record.term.reset();
  record.promoted_from.reset();
  record.demotion = mark;
  // What is paused in one term as primary is not in the next.
  if (record.pause.has_value()) record.pause->step = PauseStep::kResuming;
  return WriteLocalRecord(image, record, written, notes);
}

/// librbd answers 0 where its demotion makes no snapshot for want of room, and
/// leaves a primary that refuses writes.
absl::Status Demotion::MakeRoom() {
  ADDONS_ASSIGN_OR_RETURN(
      const std::string reason,
      MakeSnapshotRoom(session_, view_, "a demotion makes"));
  if (reason.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(MakeWritable(session_, "demote", &view_));
  return Failed(absl::StatusCode::kFailedPrecondition, reason);
}

absl::Status Demotion::DemotePrimary() {
  context_.SetPending(absl::OkStatus());
  // A promotion or demotion died half-way, and only a demotion has left what a
  // later promotion here must know.
  ADDONS_RETURN_IF_ERROR(MakeWritable(session_, "demote", &view_));
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("demoting");
  const auto demote_it = [&](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(
        RefuseLockTakenByHand("demote", session_.volume, image));
    MirrorView written = view_;
    ADDONS_RETURN_IF_ERROR(WriteNotes(image, MarkOfDemotion(view_), &written));
    // Once more, on the handle that demotes: between the last look and now
    // somebody may have opened the image.
    const auto demote = [&]() -> absl::Status {
      ADDONS_ASSIGN_OR_RETURN(const ImageClients opened,
                              FindClients(session_, image));
      ADDONS_RETURN_IF_ERROR(RefuseIfAny(opened.workloads));
      return image.MirrorDemote();
    };
    if (absl::Status demoted = demote(); !demoted.ok()) {
      // A promotion that waited for its followers goes on with that. A
      // secondary refuses this, and keeps what was noted.
      WriteLocalRecord(image, view_.own, &written).IgnoreError();
      return demoted;
    }
    // librbd protects nobody: who opened the image since we looked gets EROFS.
    const auto clients = FindClients(session_, image);
    if (clients.ok() && !clients->workloads.empty()) {
      Log().warn(
          "volume={} was opened while it was demoted; these clients cannot "
          "write "
          "any more: {}",
          Quoted(session_.volume.volume_id.text()),
          DescribeWatchers(clients->workloads));
    }
    return absl::OkStatus();
  };
  const auto demoted = ChangeAsSeen(session_, view_, demote_it);
  // EINVAL is also what librbd says when somebody else was faster.
  if (!demoted.ok() && CephErrno(demoted.status()) != EINVAL) {
    return demoted.status();
  }
  ADDONS_RETURN_IF_ERROR(LookAround());
  if (!demoted.ok() && view_.info.primary) return demoted.status();
  if (demoted.value_or(false) && !view_.info.primary) {
    NoteRoleChange(session_, RoleChange{RoleVerb::kDemote}, "primary",
                   RoleName(view_), "demoted");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Demote(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const DemoteRequest& request) {
  const CallMemory& seen = context.memory().Of<CallMemory>();
  if (request.may_hold) {
    ADDONS_RETURN_IF_ERROR(
        RestOn(context, environment, seen.rest, seen.answer_by));
  }
  return RunWithSession(
      context, environment, request.target, "demote",
      [&](Session& session) -> absl::Status {
        Demotion demotion(request, session);
        absl::Status status = RunSteps(demotion);
        if (status.ok() || demotion.workload().empty()) return status;
        if (request.scope == VerbScope::kGroupMember) {
          status.SetPayload(kRefusedForPayload,
                            absl::Cord(demotion.workload()));
          return status;
        }
        absl::Status told = AnnounceRefusal(session, demotion.workload(),
                                            status, TurnWaits::kLookAgain);
        if (SaysLookAgain(told)) return told;
        if (!told.ok()) {
          Log().warn(
              "the other site was not told that volume={} is to be demoted: {}",
              Quoted(session.volume.volume_id.text()), told.ToString());
        }
        return status;
      },
      {.changes = LastRole::kPrimary});
}

absl::Status TellRefusedDemotion(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const absl::Status& member,
                                 const absl::Status& refusal) {
  const auto workload = member.GetPayload(kRefusedForPayload);
  if (!workload.has_value()) return absl::OkStatus();
  return RunWithSession(
      context, environment, target, "note a refused demotion of",
      [&](Session& session) {
        return AnnounceRefusal(session, std::string(*workload), refusal,
                               TurnWaits::kInPlace);
      },
      {.waits = LeaseWaits::kInPlace});
}

}  // namespace addons
