#include "replication/steps/resync.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/look/evictions.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/ceph_faults/rescue.h"
#include "replication/steps/ceph_faults/stale_schedules.h"
#include "replication/steps/image_id.h"
#include "replication/steps/run_steps.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

/// The role of a copy from the request of a resync to its end.
constexpr char kBeingMadeAnew[] = "being made anew";
class Resynchronization final : public VerbRun<ResyncRequest> {
 public:
  Resynchronization(const ResyncRequest& request, Session& session)
      : VerbRun("resync", request, session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next);

  const ResyncResult& result() const { return result_; }

 private:
  /// result_ is the answer.
  bool Ended() const {
    return done.Of(Step::kReady) > 0 || done.Of(Step::kRequest) > 0;
  }
  bool MayAwaitReports();
  absl::Status Ready();
  absl::Status Request();

  std::optional<MirrorView> view_;      // nullopt: the image is absent
  std::optional<RescueRecord> rescue_;  // read with view_, of a secondary
  ResyncResult result_;
};

/// Of the volume, in the history.
std::string HistoryKey(const ResolvedVolume& volume) {
  return absl::StrCat(PoolKey(volume), "/", volume.uuid);
}

/// The image is the one that this site has demoted, and no copy made since.
bool IsDemotedIncarnation(const MirrorView& view) {
  const auto saved = view.marks.find(kDemotionMark);
  return saved != view.marks.end() &&
         saved->second == DemotionMark(view.created);
}

absl::Status Resynchronization::See() {
  context_.Step("looking at both sites");
  rescue_.reset();
  auto view = LookAt(session_.volume, *session_.reads, environment_.timeline);
  if (absl::IsNotFound(view.status())) {
    view_.reset();
    const absl::Status missing = ImageMissing(session_.volume);
    return absl::IsNotFound(missing) ? absl::OkStatus() : missing;
  }
  ADDONS_RETURN_IF_ERROR(view.status());
  environment_.series.ForgetPrimary(view->timeline_key);
  view_ = *std::move(view);
  NoteLook(environment_, session_, *view_);
  if (!view_->enabled() || view_->info.primary) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(
      rescue_,
      ReadRescueRecord(*session_.reads, session_.volume.image_name(), &*view_));
  return absl::OkStatus();
}

absl::StatusOr<Next> Resynchronization::Judge() {
  if (Ended()) return addons::Answer(absl::StatusCode::kOk, result_.message);
  return JudgeResync(session_, environment_, Counts::kYes,
                     view_.has_value() ? &*view_ : nullptr, rescue_,
                     request_.force);
}

absl::Status Resynchronization::Await(const Next& next) {
  absl::Status pending = Failed(next.code, next.reason);
  if (!MayAwaitReports()) return pending;
  TellWait(session_, "waiting for both sites to report",
           session_.memory.answer_by);
  context_.SetPending(std::move(pending));
  return context_.LookAgainAfter(environment_.options.longest_rest);
}

absl::Status Resynchronization::Act(const Next& next) {
  switch (next.step) {
    case Step::kReady:
      ADDONS_RETURN_IF_ERROR(Ready());
      result_ = {true, next.reason};
      break;
    case Step::kRequest:
      ADDONS_RETURN_IF_ERROR(Request());
      result_ = {false, "resync requested"};
      break;
    default:
      return NoSuchStep();
  }
  fresh = true;
  return absl::OkStatus();
}

absl::Status Resynchronization::Answer(const Next& next) {
  if (next.code != absl::StatusCode::kOk) return Failed(next.code, next.reason);
  if (!Ended()) result_ = {false, next.reason};
  return absl::OkStatus();
}

absl::Status Resynchronization::Ready() {
  ADDONS_ASSIGN_OR_RETURN(const bool made_anew,
                          CorrectImageId(session_, view_->image_id));
  if (made_anew) {
    environment_.watched.NoteChange(session_.volume.cluster_id.text());
    NoteRoleChange(session_, std::nullopt, kBeingMadeAnew, RoleName(*view_),
                   "resync ended: rbd-mirror has recreated this copy");
  }
  SweepSchedules(session_);
  // A state before this one, which nobody went back to.
  if (rescue_.has_value() && !RescueIsLive(*rescue_, *view_)) {
    return Rescue(session_).Remove();
  }
  return absl::OkStatus();
}

absl::Status Resynchronization::Request() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("requesting the resync");
  ADDONS_ASSIGN_OR_RETURN(std::unique_ptr<Pool> pool,
                          session_.volume.OpenPool(Access::kMutate));
  // A read-only handle suffices: a writable open of a secondary can get the
  // local rbd-mirror blocklisted.
  auto image = pool->OpenImageReadOnly(session_.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), session_.volume);
  const absl::Status requested = (*image)->MirrorResync();
  // Of an image that is not mirrored any more: librbd 16.2 and 18.2 say ENOENT,
  // 20.2 EINVAL.
  if (const int error = CephErrno(requested);
      error == EINVAL || error == ENOENT) {
    ADDONS_ASSIGN_OR_RETURN(const MirrorView now, Look(session_));
    if (!now.enabled()) {
      return Failed(absl::StatusCode::kUnavailable,
                    "replication was disabled at the same moment; repeat the "
                    "call");
    }
  }
  ADDONS_RETURN_IF_ERROR(requested);
  NoteRoleChange(session_, RoleChange{RoleVerb::kResync, request_.force},
                 RoleName(*view_), kBeingMadeAnew,
                 "resync begun: rbd-mirror deletes this copy and copies again");
  // What rbd-mirror reports is about the copy that it is to delete.
  view_->resync_requested = true;
  NoteLook(environment_, session_, *view_);
  // Now, because this may be the last call about the volume on this site:
  // orchestrators delete the VolumeReplication as soon as a resync has begun.
  ForgetSchedulesOfId(session_.volume, view_->image_id);
  return (*image)->Close();
}

/// false: nobody waits for that long.
bool Resynchronization::MayAwaitReports() {
  std::optional<SteadyTime>& until = session_.memory.answer_by;
  const SteadyTime now = context_.clock().Now();
  if (!until.has_value()) until = now + environment_.options.settle_time;
  return context_.LatestDeadline().has_value() && now < *until;
}

}  // namespace

absl::StatusOr<Next> JudgeResync(const OpenedVolume& opened,
                                 ReplicationEnvironment& environment,
                                 Counts counts, const MirrorView* view,
                                 const std::optional<RescueRecord>& rescue,
                                 Force force) {
  Timeline& timeline = environment.timeline;
  const SteadyDuration settle = environment.options.settle_time;
  const std::string key = HistoryKey(opened.volume);
  const SiteNameFn site_name = SiteNamesOf(*opened.reads);
  const MirrorView no_image;
  ResyncSeen seen{.view = view != nullptr ? *view : no_image,
                  .site_name = site_name,
                  .settle = settle,
                  .force = force,
                  .absent = view == nullptr};
  seen.spec = opened.volume.ImageSpec();
  seen.rescue = rescue;
  seen.since_primary = timeline.SinceSeen(key, Since::kLivingPrimary);
  if (view != nullptr && !view->info.primary &&
      (view->enabled() || view->resync_requested)) {
    if (LivingPrimary(*view, settle)) {
      seen.since_primary = SteadyDuration::zero();
      timeline.See(key, Since::kLivingPrimary, "seen", counts);
    }
    if (!ReportsError(*view) && counts == Counts::kYes) {
      timeline.Forget(key, Since::kError);
      timeline.Forget(key, Since::kErrorReport);
    }
    seen.sent_away = WhySilentHere(opened.cluster(), *opened.reads, *view,
                                   environment.clock.WallNow());
  }
  Next next = DecideResync(seen);
  if (next.step != Step::kReadError) return next;
  const Held<std::string> since =
      timeline.See(key, Since::kError, "error", counts);
  const Held<std::string> report =
      timeline.See(key, Since::kErrorReport, view->local->Stamp(), counts);
  ResyncError error;
  error.standing = {since.seen_at - since.since, report.changes};
  if (MayBeStanding(*view, error.standing, settle)) {
    error.demoted_incarnation = IsDemotedIncarnation(*view);
  }
  seen.error = error;
  return DecideResync(seen);
}

absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request) {
  return RunForResult<ResyncResult>(
      context, environment, request.target, "resync",
      [&](Session& session) -> absl::StatusOr<ResyncResult> {
        Resynchronization resync(request, session);
        ADDONS_RETURN_IF_ERROR(RunSteps(resync));
        return resync.result();
      });
}

}  // namespace addons
