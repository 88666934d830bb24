#include "replication/steps/rollback_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/write_back.h"

namespace addons {
namespace {

/// A point that is whole here: one that this site has made as primary, or that
/// a rollback rests on already.
absl::StatusOr<Point> NeedPoint(const Session& session, const MirrorView& view,
                                const std::optional<RollbackMark>& begun,
                                const std::string& name) {
  std::optional<Point> point = FindPoint(view.other_snapshots, name);
  if (!point.has_value()) {
    return RefuseRollback(
        session, absl::StatusCode::kFailedPrecondition,
        absl::StrCat(
            "it has no point '", name, "' (`rbd-addons point list` shows them)",
            begun.has_value()
                ? absl::StrCat(begun->untouched ? "" : "; it holds a mixture",
                               HowToGiveUp(session))
                : ""));
  }
  if (MadeInThisTerm(view, point->snapshot) || NeededByRollback(begun, name) ||
      MayGoTo(begun, *point)) {
    return *std::move(point);
  }
  return RefuseRollback(
      session, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("its point '", name,
                   "' was made before this site was promoted last, so that it "
                   "is not known to be whole here"));
}

/// How it lay at the point, where the image can hold that.
absl::StatusOr<ImageLayout> LayoutToHold(const Session& session,
                                         const MirrorView& view,
                                         const Point& point) {
  if (view.parent.has_value()) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          kCloneIsNotBroughtBack);
  }
  ADDONS_ASSIGN_OR_RETURN(
      ImageLayout layout,
      LayoutAt(session, kRollbackAction, view.image_id, point.snapshot));
  if (view.size.bytes >= layout.bytes) return layout;
  return RefuseRollback(
      session, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("it has ", view.size.bytes, " bytes now, and had ",
                   layout.bytes, " at point '", point.name,
                   "'; make it as large first (`rbd resize`)"));
}

}  // namespace

absl::Status RefuseRollback(const Session& session, absl::StatusCode code,
                            absl::string_view reason) {
  return FailedTo(kRollbackAction, session.volume, code, reason);
}

std::string HowToGiveUp(const Session& session) {
  return absl::StrCat(
      "; to accept what it holds now, take the note away: `rbd image-meta "
      "remove ",
      session.volume.ImageSpec(), " ", kRollbackKey, "`");
}

RollbackMark RollbackPlan::MarkFrom(OperationContext& context) const {
  RollbackMark mark;
  mark.point = point.name;
  if (kept.has_value()) mark.kept = kept->name;
  if (begun.has_value()) {
    mark.also = begun->point != mark.point && begun->point != mark.kept &&
                        !begun->untouched
                    ? begun->point
                    : begun->also;
    mark.of_promotion = begun->of_promotion;
  }
  mark.since = begun.has_value()
                   ? begun->since
                   : FormatUtc(absl::FromChrono(context.clock().WallNow()));
  return mark;
}

absl::Status CheckPromoted(const Session& session, MirrorView* view) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto rescue,
      ReadRescueRecord(*session.reads, session.volume.image_name(), view));
  const bool half = (rescue.has_value() && AwaitsRestore(*rescue, *view)) ||
                    UnsavedHalfCopy(*view, rescue) != nullptr ||
                    !HalfCopies(*view).empty() ||
                    view->own.demotion.has_value();
  if (!half) return absl::OkStatus();
  return RefuseRollback(session, absl::StatusCode::kUnavailable,
                        "its last promotion has not ended; promote it again "
                        "first");
}

absl::StatusOr<RollbackPlan> PlanRollback(const Session& session,
                                          const MirrorView& view,
                                          const RollbackRequest& request) {
  RollbackPlan plan;
  plan.begun = ReadRollbackMark(view);
  if (plan.begun.has_value() && plan.begun->unclear) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          DescribeRollback(*plan.begun));
  }
  if (request.only_go_on && !plan.begun.has_value()) {
    return RefuseRollback(session, absl::StatusCode::kFailedPrecondition,
                          "the rollback that was to go on has ended meanwhile; "
                          "look anew");
  }
  ADDONS_ASSIGN_OR_RETURN(plan.point,
                          NeedPoint(session, view, plan.begun, request.point));
  if (plan.begun.has_value()) {
    // Somebody may have removed it by hand.
    plan.kept = FindPoint(view.other_snapshots, plan.begun->kept);
  } else if (!request.kept.empty()) {
    ADDONS_ASSIGN_OR_RETURN(plan.kept,
                            NeedPoint(session, view, plan.begun, request.kept));
  }
  ADDONS_ASSIGN_OR_RETURN(plan.layout, LayoutToHold(session, view, plan.point));
  // What it had kept is of this term: to go back to that is no answer.
  plan.answers_promotion =
      request.of_promotion ||
      (plan.OfPromotion() && !MadeInThisTerm(view, plan.point.snapshot));
  return plan;
}

}  // namespace addons
