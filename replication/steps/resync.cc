#include "replication/steps/resync.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/session.h"
#include "replication/steps/image_id.h"
#include "replication/steps/rescue.h"
#include "replication/steps/schedule_store.h"

namespace addons {
namespace {

/// The role of a copy from the request of a resync to its end.
constexpr char kBeingMadeAnew[] = "being made anew";
class Resynchronization {
 public:
  Resynchronization(const ResyncRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session) {}

  absl::StatusOr<ResyncResult> Run();

 private:
  absl::StatusOr<std::optional<ResyncResult>> LookAndAct();
  bool MayAwaitReports();
  absl::Status AwaitReports(const ResyncDecision& decision);
  absl::StatusOr<ResyncResult> Ready(const MirrorView& view,
                                     const std::string& reason);
  absl::StatusOr<ResyncResult> Request(const MirrorView& view);
  absl::Status Failed(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const ResyncRequest& request_;
  Session& session_;
};

ResyncResult NotReady(std::string message) {
  return ResyncResult{false, std::move(message)};
}

/// Of the volume, in the history.
std::string HistoryKey(const ResolvedVolume& volume) {
  return absl::StrCat(PoolKey(volume), "/", volume.uuid);
}

/// The image is the one that this site has demoted, and no copy made since.
absl::StatusOr<bool> IsDemotedIncarnation(const OpenedVolume& opened,
                                          const MirrorView& view) {
  auto image = opened.reads->OpenImageReadOnly(opened.volume.image_name());
  if (!image.ok()) return AfterResolve(image.status(), opened.volume);
  ADDONS_ASSIGN_OR_RETURN(const auto saved, (*image)->Metadata(kDemotionMark));
  return saved == DemotionMark(view.created);
}

absl::Status Resynchronization::Failed(absl::StatusCode code,
                                       const std::string& reason) const {
  return FailedTo("resync", session_.volume, code, reason);
}

absl::StatusOr<ResyncResult> Resynchronization::Ready(
    const MirrorView& view, const std::string& reason) {
  ADDONS_ASSIGN_OR_RETURN(const bool made_anew,
                          CorrectImageId(session_, view.image_id));
  if (made_anew) {
    NoteRoleChange(session_, kBeingMadeAnew, RoleName(view),
                   "resync ended: rbd-mirror has recreated this copy");
  }
  SweepSchedules(session_);
  // A state before this one, which nobody went back to.
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  if (rescue.has_value() && !RescueIsLive(*rescue, view)) {
    ADDONS_RETURN_IF_ERROR(Rescue(session_).Remove());
  }
  return ResyncResult{true, reason};
}

absl::StatusOr<ResyncResult> Resynchronization::Request(
    const MirrorView& view) {
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
  NoteRoleChange(session_, RoleName(view), kBeingMadeAnew,
                 "resync begun: rbd-mirror deletes this copy and copies again");
  // Now, because this may be the last call about the volume on this site:
  // orchestrators delete the VolumeReplication as soon as a resync has begun.
  ForgetSchedulesOfId(session_.volume, view.image_id);
  ADDONS_RETURN_IF_ERROR((*image)->Close());
  return NotReady("resync requested");
}

/// false: nobody waits for that long.
bool Resynchronization::MayAwaitReports() {
  std::optional<SteadyTime>& until = session_.memory.answer_by;
  const SteadyTime now = context_.clock().Now();
  if (!until.has_value()) until = now + environment_.options.settle_time;
  return context_.LatestDeadline().has_value() && now < *until;
}

absl::Status Resynchronization::AwaitReports(const ResyncDecision& decision) {
  context_.Step("waiting for both sites to report");
  context_.SetPending(Failed(decision.code, decision.reason));
  return context_.LookAgainAfter(environment_.options.longest_rest);
}

absl::StatusOr<ResyncResult> Resynchronization::Run() {
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(const std::optional<ResyncResult> result,
                            LookAndAct());
    if (result.has_value()) return *result;
  }
}

/// nullopt: it has waited, look again.
absl::StatusOr<std::optional<ResyncResult>> Resynchronization::LookAndAct() {
  context_.Step("looking at both sites");
  const auto view =
      LookAt(session_.volume, *session_.reads, environment_.timeline);
  const bool absent = absl::IsNotFound(view.status());
  if (!absent) {
    ADDONS_RETURN_IF_ERROR(view.status());
    environment_.series.ForgetPrimary(view->timeline_key);
  }
  ADDONS_ASSIGN_OR_RETURN(
      const ResyncDecision decision,
      JudgeResync(session_, environment_.timeline, Counts::kYes,
                  absent ? nullptr : &*view, request_.force,
                  environment_.options.settle_time));
  switch (decision.action) {
    case ResyncAction::kReady:
      return Ready(*view, decision.reason);
    case ResyncAction::kRequest:
      return Request(*view);
    case ResyncAction::kNotReady:
      return NotReady(decision.reason);
    case ResyncAction::kAwaitReports:
      if (!MayAwaitReports()) break;
      ADDONS_RETURN_IF_ERROR(AwaitReports(decision));
      return std::optional<ResyncResult>();
    case ResyncAction::kRefuse:
    case ResyncAction::kAskError:
      break;
  }
  return Failed(decision.code, decision.reason);
}

}  // namespace

absl::StatusOr<ResyncDecision> JudgeResync(const OpenedVolume& opened,
                                           Timeline& timeline, Counts counts,
                                           const MirrorView* view, Force force,
                                           SteadyDuration settle) {
  const std::string key = HistoryKey(opened.volume);
  const auto site_name = [&](const std::string& uuid) {
    return SiteName(*opened.reads, uuid);
  };
  ResyncEvidence seen{.view = view, .force = force};
  seen.spec = opened.volume.ImageSpec();
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
  }
  ResyncDecision decision = DecideResync(seen, settle, site_name);
  if (decision.action != ResyncAction::kAskError) return decision;
  const Held<std::string> since =
      timeline.See(key, Since::kError, "error", counts);
  const Held<std::string> report =
      timeline.See(key, Since::kErrorReport, view->local->Stamp(), counts);
  ResyncError error;
  error.standing = {since.seen_at - since.since, report.changes};
  if (MayBeStanding(*view, error.standing, settle)) {
    ADDONS_ASSIGN_OR_RETURN(error.demoted_incarnation,
                            IsDemotedIncarnation(opened, *view));
  }
  seen.error = error;
  return DecideResync(seen, settle, site_name);
}

absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request) {
  ResyncResult result;
  ADDONS_RETURN_IF_ERROR(
      RunWithSession(context, environment, request.target, "resync",
                     [&](Session& session) -> absl::Status {
                       ADDONS_ASSIGN_OR_RETURN(
                           result, Resynchronization(request, session).Run());
                       return absl::OkStatus();
                     }));
  return result;
}

}  // namespace addons
