#include "replication/steps/promote.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"
#include "replication/decide/promote.h"
#include "replication/decide/wait_clock.h"
#include "replication/look/peers.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/promotion_rest.h"
#include "replication/session.h"
#include "replication/steps/become_primary.h"
#include "replication/steps/ceph_faults/demotion_copy.h"
#include "replication/steps/ceph_faults/rescue.h"
#include "replication/steps/ceph_faults/stale_schedules.h"
#include "replication/steps/image_id.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/roll_back.h"
#include "replication/steps/run_steps.h"
#include "replication/steps/write_record.h"
#include "replication/write_back.h"

namespace addons {
namespace {

/// One promotion of one volume, from the first look to the answer: RunSteps().
class Promotion final : public VerbRun<PromoteRequest> {
 public:
  Promotion(const PromoteRequest& request, Session& session)
      : VerbRun("promote", request, session),
        rescue_(session),
        change_(request, session, rescue_,
                [this](const std::string& reason) { return Wait(reason); }) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next) const;

 private:
  PromoteSeen Seen(const SiteNameFn& site_name) const;
  absl::StatusOr<SeriesClocks> ReadClocks(bool disturbed);
  absl::Status WaitForPeer(const Next& next);
  std::string DescribeClock();
  absl::Status WaitAsPrimary(const Next& next);
  absl::Status Wait(const std::string& reason, const std::string& clock = "");
  // --- of a secondary
  absl::Status PromoteAs(Step step);
  void ReadProofOfCopy();
  void ForgetProofOfCopy(const std::string& image_id);
  // --- of a primary
  absl::Status SeeRelease();
  absl::Status RestoreLastComplete();
  absl::Status RemoveRescue();
  absl::Status GoBackToPoint();
  absl::Status Yield(const std::string& reason);
  absl::Status ForgetDemotion();
  absl::Status KeepScheduleOfRequest();

  Rescue rescue_;
  BecomePrimary change_;
  MirrorView view_;
  std::optional<RescueRecord> record_;  // of the rescue image
  SteadyTime looked_at_;                // at view_
  SeriesClocks clocks_;                 // likewise
  bool was_primary_ = false;            // a look has shown that
  std::optional<bool> open_by_mirror_;  // before view_
  SteadyDuration open_for_{0};
  bool awaits_release_ = false;  // the next look is SeeRelease()
  /// Of each wait of a primary: since when.
  std::map<Step, SteadyTime> waits_since_;
};

absl::Status Promotion::See() {
  // What a primary has left to do is no matter of the other site.
  if (was_primary_) {
    if (std::exchange(awaits_release_, false)) return SeeRelease();
    ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
    ShowMarked(record_, &view_);
    return absl::OkStatus();
  }
  PromotionRest& rest = session_.memory.rest;
  ADDONS_RETURN_IF_ERROR(
      RestOn(context_, environment_, rest, request_.answer_by));
  if (!context_.mutating()) context_.Step("looking at both sites");
  NoteVersion(*session_.reads, &rest);
  looked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  rest.image_id =
      view_.info.mode == MirrorMode::kSnapshot ? view_.image_id : "";
  ADDONS_ASSIGN_OR_RETURN(
      record_,
      ReadRescueRecord(*session_.reads, session_.volume.image_name(), &view_));
  // It counts for a promotion that would lose nothing, or goes to a point.
  const MirrorSnapshot* const newest = view_.Newest();
  const bool loses_nothing =
      request_.force == Force::kNo && newest != nullptr &&
      newest->kind == MirrorSnapshotKind::kNonPrimaryDemoted;
  if (loses_nothing || !request_.parameters.restore_point.empty()) {
    ReadProofOfCopy();
  }
  return absl::OkStatus();
}

/// That it cannot be read keeps no site down.
void Promotion::ReadProofOfCopy() {
  const absl::Status read = AddProof(*session_.reads, &view_);
  if (!read.ok()) {
    Log().warn(
        "what comparisons have found cannot be read volume={} message={}",
        Quoted(session_.volume.volume_id.text()), Quoted(read.message()));
  }
}

/// What this site holds is right from now on.
void Promotion::ForgetProofOfCopy(const std::string& image_id) {
  const auto pool = session_.volume.OpenPool(Access::kMutate);
  const absl::Status forgotten =
      pool.ok() ? ForgetProof(**pool, image_id) : pool.status();
  if (!forgotten.ok()) {
    Log().warn(
        "what a comparison has found of the copy that was promoted stays in "
        "rbd_addons.proofs volume={} message={}",
        Quoted(session_.volume.volume_id.text()), Quoted(forgotten.message()));
  }
}

PromoteSeen Promotion::Seen(const SiteNameFn& site_name) const {
  PromoteSeen seen{.view = view_,
                   .rescue = record_,
                   .options = environment_.options,
                   .site_name = site_name,
                   .force = request_.force,
                   .scope = request_.scope};
  seen.restore_point = request_.parameters.restore_point;
  seen.clocks = clocks_;
  seen.disturbed = environment_.timeline.Disturbed(session_.cluster().fsid());
  if (request_.parameters.schedule.has_value()) {
    seen.interval = request_.parameters.schedule->interval;
  }
  seen.journal_image_id = session_.volume.attributes.image_id;
  seen.open_by_mirror = open_by_mirror_;
  seen.open_for = open_for_;
  seen.was_primary = was_primary_;
  seen.begun = change_.begun();
  seen.took_back = change_.took_back();
  seen.done = done;
  return seen;
}

absl::StatusOr<Next> Promotion::Judge() {
  was_primary_ |= view_.info.primary;
  clocks_ = SeriesClocks();
  // How long it has been so is asked where that keeps it from a promotion: no
  // clock ever does where the demotion is here and holds.
  if (NeedsClocks(view_, request_.force)) {
    const PromoteSeen seen = Seen(NoSiteNames());
    if (DecidePromote(seen).step != Step::kPromote) {
      ADDONS_ASSIGN_OR_RETURN(clocks_, ReadClocks(seen.disturbed));
    }
  }
  const SiteNameFn names = SiteNamesOf(*session_.reads);
  return DecidePromote(Seen(names));
}

absl::Status Promotion::Answer(const Next& next) const { return Told(next); }

absl::Status Promotion::Await(const Next& next) {
  return next.step == Step::kWait ? WaitForPeer(next) : WaitAsPrimary(next);
}

absl::Status Promotion::Act(const Next& next) {
  switch (next.step) {
    case Step::kPromote:
    case Step::kPromoteByForce:
    case Step::kRescue:
      return PromoteAs(next.step);
    case Step::kResumeDemotionCopy:
      // Without the lease: what waits has not begun to change the volume.
      environment_.aside(session_.cluster().fsid(),
                         [volume = session_.volume, view = view_] {
                           ResumeDemotionCopy(volume, view);
                         });
      return WaitForPeer(next);
    case Step::kSeeRelease:
      fresh = true;
      return SeeRelease();
    case Step::kSaveHalfCopy: {
      // What began to arrive between the last look and librbd's promotion,
      // which does not know of it (as of half a demotion) or found it too late.
      ADDONS_ASSIGN_OR_RETURN(record_, rescue_.SaveHalfCopy(view_));
      return absl::OkStatus();
    }
    case Step::kMakeWritable:
      fresh = true;
      return MakeWritable(session_, "promote", &view_);
    case Step::kRemoveHalfCopies:
      return RemoveHalfCopies(session_, view_);
    case Step::kRestore:
      return RestoreLastComplete();
    case Step::kRemoveRescue:
      return RemoveRescue();
    case Step::kRollBack:
      return GoBackToPoint();
    case Step::kCompleteSnapshot:
      return CompleteHalfDone(session_, &view_);
    case Step::kYield:
      return Yield(next.reason);
    case Step::kForgetDemotion:
      return ForgetDemotion();
    case Step::kForgetResync:
      fresh = true;
      return RemoveStaleResyncRequest(session_, &view_);
    case Step::kCorrectImageId:
      fresh = true;
      return CorrectImageId(session_, view_.image_id).status();
    case Step::kRememberClone:
      fresh = true;
      return RememberClone(session_, &view_);
    case Step::kKeepSchedule:
      return KeepScheduleOfRequest();
    default:
      return NoSuchStep();
  }
}

absl::StatusOr<SeriesClocks> Promotion::ReadClocks(bool disturbed) {
  ADDONS_RETURN_IF_ERROR(environment_.series.List(
      session_.cluster(), *session_.reads, view_.pool_key));
  return environment_.series.Note(SeenInSeries(
      view_, session_.volume.rados_namespace, disturbed, environment_.options));
}

absl::Status Promotion::Wait(const std::string& reason,
                             const std::string& clock) {
  context_.Step(absl::StrCat("waiting: ", reason));
  context_.TellClock(clock);
  absl::Status pending = Failed(absl::StatusCode::kUnavailable, reason);
  context_.SetPending(pending);
  if (request_.answer_by.has_value() && !context_.mutating() &&
      context_.clock().Now() >= *request_.answer_by) {
    return pending;
  }
  if (const MirrorSnapshot* newest = view_.Newest();
      newest != nullptr && !newest->complete) {
    context_.Progress(newest->last_copied_object, view_.size.objects);
  }
  return context_.LookAgainAfter(environment_.options.poll_interval);
}

/// Of a secondary.
absl::Status Promotion::WaitForPeer(const Next& next) {
  const std::string clock = DescribeClock();
  const std::string reason =
      absl::StrCat(next.reason, clock.empty() ? "" : "; ", clock);
  PromotionRest& rest = session_.memory.rest;
  NoteRest(session_, looked_at_, Failed(next.code, reason), &rest);
  // A refused demotion counts for a time that no report tells.
  if (NeedsClocks(view_, request_.force) && !RefusalStands(view_)) {
    NoteSettled(environment_, view_, clocks_, &rest);
  }
  ADDONS_RETURN_IF_ERROR(Wait(reason, clock));
  // An earlier try began to mutate, was refused by librbd, and by now the
  // other side looks different: nothing was changed, so just wait on.
  return change_.OutOfPatience() ? Failed(next.code, reason) : absl::OkStatus();
}

/// DescribeWaitClock(), or empty.
std::string Promotion::DescribeClock() {
  std::vector<MirrorPeer>& peers = session_.memory.peers;
  if (peers.empty()) {
    if (auto read = session_.reads->MirrorPeers(); read.ok()) {
      peers = *std::move(read);
    }
  }
  const SteadyTime now = context_.clock().Now();
  std::optional<SteadyTime>& at = session_.memory.over_at;
  std::optional<std::chrono::seconds> known;
  if (at.has_value() && *at > now) {
    known = std::chrono::ceil<std::chrono::seconds>(*at - now);
  }
  const SiteNameFn names = [&peers](const std::string& uuid) {
    return SiteName(peers, uuid);
  };
  const auto clock = WaitClockOf(Seen(names), known);
  if (!clock.has_value() || !clock->over_in.has_value()) {
    at.reset();
    return clock.has_value() ? DescribeWaitClock(*clock, "") : "";
  }
  // What still holds is told as it was.
  if (clock->over_in != known) at = now + *clock->over_in;
  return DescribeWaitClock(*clock,
                           MomentOf(context_.clock().WallNow() + (*at - now)));
}

/// Nobody is to start a workload before.
absl::Status Promotion::WaitAsPrimary(const Next& next) {
  const SteadyTime since =
      waits_since_.try_emplace(next.step, context_.clock().Now()).first->second;
  if (!MayWaitOn(session_, since)) return Failed(next.code, next.reason);
  awaits_release_ = next.step == Step::kAwaitRelease;
  return Wait(next.reason);
}

absl::Status Promotion::PromoteAs(Step step) {
  ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorView> promoted,
                          change_.Promote(step, view_, looked_at_, &record_));
  if (!promoted.has_value()) return absl::OkStatus();
  // A promotion by force heeds none, and reads it to forget it.
  if (request_.force == Force::kYes && view_.Newest() != nullptr) {
    ReadProofOfCopy();
  }
  if (!view_.proof.point.empty()) ForgetProofOfCopy(view_.image_id);
  view_ = *std::move(promoted);
  fresh = true;
  return absl::OkStatus();
}

/// In journal mode a promotion takes no lock. When the peer takes its own
/// demotion back at this moment, rbd-mirror of this site opens the image to
/// follow it, sees that it is not primary, and takes it over; a promotion here
/// in between is lost (seen, 16.2.15: both sites were told that they are
/// primary, and one was not any more). It opens the image before it looks at
/// the role, so where it does not have it open, and this site is primary after
/// that, it stays so. One that is stuck loses its watch after 30 s.
absl::Status Promotion::SeeRelease() {
  // In this order.
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                          FindClients(session_, view_.image_id));
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  open_by_mirror_ = clients.mirror;
  open_for_ = environment_.timeline.HeldFor(
      view_.timeline_key, Since::kOpenByMirror,
      clients.mirror && view_.info.primary ? "open" : "");
  return absl::OkStatus();
}

absl::Status Promotion::RestoreLastComplete() {
  ADDONS_RETURN_IF_ERROR(rescue_.Restore());
  record_.reset();
  return absl::OkStatus();
}

absl::Status Promotion::RemoveRescue() {
  ADDONS_RETURN_IF_ERROR(rescue_.Remove());
  record_.reset();
  fresh = true;
  return absl::OkStatus();
}

/// What keeps it from going on is no reason to force anything.
absl::Status Promotion::GoBackToPoint() {
  RollbackRequest request;
  request.point = request_.parameters.restore_point;
  request.only_go_on = true;
  request.of_promotion = true;
  // As a rescue, which writes as much.
  rescue_.ReleaseSlot();
  ADDONS_ASSIGN_OR_RETURN(
      const Slots::Slot slot,
      AwaitSlot(session_,
                Failed(absl::StatusCode::kUnavailable,
                       "it is primary, and goes back to its point when other "
                       "volumes are; start no workload, and repeat the call")));
  absl::Status gone = RollBack(session_, request).status();
  if (!absl::IsFailedPrecondition(gone)) return gone;
  return absl::UnavailableError(gone.message());
}

/// Nobody was told that this site is primary, so it is demoted again, unless a
/// workload has begun all the same.
absl::Status Promotion::Yield(const std::string& reason) {
  const auto refuse = [&](absl::string_view end) {
    return Failed(absl::StatusCode::kUnavailable, absl::StrCat(reason, end));
  };
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients,
                          FindClients(session_, view_.image_id));
  if (!clients.workloads.empty()) {
    return refuse(absl::StrCat(
        ", and this site cannot give the role back, because the image is in "
        "use by ",
        DescribeWatchers(clients.workloads)));
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginCorrection());
  context_.Step("demoting again");
  Log().warn("{}; this site is demoted again volume={}", reason,
             Quoted(session_.volume.volume_id.text()));
  const auto demote = [&](Image& opened) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(
        RefuseLockTakenByHand("demote", session_.volume, opened));
    // Before it, because nothing can be written to a secondary.
    MirrorView written = view_;
    LocalRecord record = view_.own;
    record.demotion = OwnDemotionMark{OwnDemotionStep::kGivenBack};
    // One that was given back before may have been promoted by another program.
    record.demotion->told_nobody = ToldNobody(view_);
    const absl::Status noted = WriteLocalRecord(opened, record, &written);
    return noted.ok() ? opened.MirrorDemote() : noted;
  };
  ADDONS_ASSIGN_OR_RETURN(const bool demoted,
                          ChangeAsSeen(session_, view_, demote));
  if (!demoted) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
  if (!after.info.primary) {
    NoteRoleChange(session_, RoleChange{RoleVerb::kDemote}, "primary",
                   RoleName(after), absl::StrCat("demoted again: ", reason));
  }
  return refuse("; this site has given the role back");
}

absl::Status Promotion::ForgetDemotion() {
  const auto followers = FollowersOf(Seen(NoSiteNames()));
  if (followers.has_value() && followers->state != FollowerState::kFollow) {
    Log().warn(
        "this site has taken its own demotion back by force, without waiting "
        "until {} follows it; if that site is promoted now, both are primary "
        "volume={}",
        SiteName(*session_.reads, followers->peer),
        Quoted(session_.volume.volume_id.text()));
  }
  context_.SetPending(absl::OkStatus());
  fresh = true;
  return RemoveMarks(session_, &view_);
}

absl::Status Promotion::KeepScheduleOfRequest() {
  fresh = true;
  SweepSchedules(session_);
  if (view_.info.mode != MirrorMode::kSnapshot) return absl::OkStatus();
  if (!request_.parameters.schedule.has_value()) {
    return KeepFormerSchedule(session_, request_.target.user, view_,
                              request_.scope, change_.begun());
  }
  return KeepSchedule(session_, request_.target.user, view_,
                      *request_.parameters.schedule, request_.scope);
}

}  // namespace

absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request) {
  const std::string& volume_id = request.target.volume_id.text();
  const CallMemory& seen = context.memory().Of<CallMemory>();
  ADDONS_RETURN_IF_ERROR(
      RestOn(context, environment, seen.rest,
             seen.answer_by.has_value() ? seen.answer_by : request.answer_by));
  // Where it waits at first, the lease is given back with the first wait.
  const SessionOptions options{.changes = LastRole::kSecondary};
  absl::Status status = RunWithSession(
      context, environment, request.target, "promote",
      [&](Session& session) {
        PromoteRequest timed = request;
        CallMemory& memory = session.memory;
        // The first answer shows what is waited for; later calls wait as long
        // as they may.
        if (!std::exchange(memory.begun, true) &&
            request.scope == VerbScope::kVolume &&
            request.force == Force::kNo &&
            environment.series.IsFirstCall(volume_id)) {
          memory.answer_by =
              context.clock().Now() + environment.options.first_answer;
        }
        if (memory.answer_by.has_value()) timed.answer_by = memory.answer_by;
        Promotion promotion(timed, session);
        return RunSteps(promotion);
      },
      options);
  if (status.ok()) environment.series.EndCalls(volume_id);
  return status;
}

}  // namespace addons
