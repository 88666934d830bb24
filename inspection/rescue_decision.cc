#include "inspection/rescue_decision.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/session.h"
#include "volume/missing_image.h"

namespace addons {
namespace {

const char* TextOf(RescueChoice choice) {
  return choice == RescueChoice::kKeep ? kKeepWhatWasWritten
                                       : kOverwriteWhatWasWritten;
}

bool Undecided(const std::optional<RescueRecord>& record,
               const MirrorView& view) {
  return record.has_value() && record->step == RescueStep::kWritten &&
         AwaitsRestore(*record, view);
}

std::string Describe(const RescueReport& report, const RescueRecord& record,
                     const MirrorView& view, const ImageName& image) {
  if (report.decision == kKeepWhatWasWritten && report.undecided) {
    return "the next promotion of the volume on this site keeps what is in the "
           "image, and drops the saved state";
  }
  if (report.decision == kOverwriteWhatWasWritten && report.undecided) {
    return "the next promotion of the volume on this site writes the saved "
           "state over what is in the image";
  }
  if (MarkedCopyWentOn(record, view)) return kMarkedCopyWentOn;
  if (AwaitsRestore(record, view)) {
    return DescribeAwaitedRestore(record, image, report.rescue_image);
  }
  return RescueIsLive(record, view)
             ? "a forced promotion saves the last complete state first; "
               "promote the volume by force to go on"
             : "it is over; the next promotion or disable removes the rescue "
               "image";
}

/// What the rescue image of an opened volume says.
absl::StatusOr<RescueReport> Report(Pool& pool, const ImageName& image,
                                    const MirrorView& view) {
  RescueReport report;
  ADDONS_ASSIGN_OR_RETURN(const auto record, ReadRescueRecord(pool, image));
  if (!record.has_value()) {
    report.message = "the volume has no rescue image, nothing is to be decided";
    return report;
  }
  const ImageName name = RescueImageName(image);
  auto opened = pool.OpenImageReadOnly(name);
  if (absl::IsNotFound(opened.status())) {
    return absl::UnavailableError(
        "another process has just removed the rescue image; repeat the call");
  }
  ADDONS_RETURN_IF_ERROR(opened.status());
  ADDONS_ASSIGN_OR_RETURN(const auto decision,
                          (*opened)->Metadata(kRescueDecision));
  ADDONS_RETURN_IF_ERROR((*opened)->Close());
  report.rescue_image = pool.Spec(name);
  report.step = std::string(StepName(record->step));
  report.bytes = record->bytes;
  report.undecided = Undecided(record, view);
  report.decision = decision.value_or("");
  report.message = Describe(report, *record, view, image);
  return report;
}

absl::StatusOr<RescueReport> Decide(Session& session, RescueChoice choice) {
  const ImageName& image = session.volume.image_name();
  session.context.Step("looking at the rescue");
  ADDONS_ASSIGN_OR_RETURN(const MirrorView view, Look(session));
  ADDONS_ASSIGN_OR_RETURN(const auto record,
                          ReadRescueRecord(*session.reads, image));
  if (!Undecided(record, view)) {
    return FailedTo("decide the rescue of", session.volume,
                    absl::StatusCode::kFailedPrecondition,
                    record.has_value()
                        ? absl::StrCat("its rescue is at the step '",
                                       StepName(record->step),
                                       "', and waits for nobody's decision")
                        : "it has no rescue image");
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("noting the decision");
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          session.volume.OpenPool(Access::kMutate));
  auto rescue = pool->OpenImage(RescueImageName(image));
  if (!rescue.ok()) return AfterResolve(rescue.status(), session.volume);
  const absl::Status noted =
      (*rescue)->SetMetadata(kRescueDecision, TextOf(choice));
  const absl::Status closed = (*rescue)->Close();
  ADDONS_RETURN_IF_ERROR(noted);
  ADDONS_RETURN_IF_ERROR(closed);
  Log().warn("an administrator has decided the rescue of volume={}: {}",
             Quoted(session.volume.volume_id.text()), TextOf(choice));
  ADDONS_ASSIGN_OR_RETURN(RescueReport report,
                          Report(*session.reads, image, view));
  if (report.undecided && report.decision == TextOf(choice)) return report;
  return FailedTo("decide the rescue of", session.volume,
                  absl::StatusCode::kUnavailable,
                  "another process has just changed it; repeat the call");
}

}  // namespace

absl::StatusOr<RescueReport> ShowRescue(ReplicationEnvironment& environment,
                                        const VolumeTarget& target,
                                        SteadyTime deadline) {
  return RetryWhenBlocklisted([&]() -> absl::StatusOr<RescueReport> {
    ADDONS_ASSIGN_OR_RETURN(
        const OpenedVolume opened,
        OpenVolume(environment, target, Access::kRead, deadline));
    const auto view =
        LookAt(opened.volume, *opened.reads, environment.timeline);
    if (absl::IsNotFound(view.status())) return ImageMissing(opened.volume);
    ADDONS_RETURN_IF_ERROR(view.status());
    return Report(*opened.reads, opened.volume.image_name(), *view);
  });
}

absl::StatusOr<RescueReport> DecideRescue(OperationContext& context,
                                          ReplicationEnvironment& environment,
                                          const VolumeTarget& target,
                                          RescueChoice choice) {
  return RunForResult<RescueReport>(
      context, environment, target, "decide the rescue of",
      [&](Session& session) { return Decide(session, choice); });
}

}  // namespace addons
