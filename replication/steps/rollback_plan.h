#ifndef ADDONS_REPLICATION_STEPS_ROLLBACK_PLAN_H_
#define ADDONS_REPLICATION_STEPS_ROLLBACK_PLAN_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"
#include "operation/operation_context.h"
#include "replication/look/mirror_view.h"
#include "replication/look/point.h"
#include "replication/look/rollback_mark.h"
#include "replication/session.h"
#include "replication/steps/roll_back.h"

namespace addons {

inline constexpr char kRollbackAction[] = "roll back";

/// "Failed to roll back ...: <reason>".
absl::Status RefuseRollback(const Session& session, absl::StatusCode code,
                            absl::string_view reason);

/// What a rollback rests on, from one look.
struct RollbackPlan {
  std::optional<RollbackMark> begun;  // one that has not ended
  Point point;
  std::optional<Point> kept;
  ImageLayout layout;  // at the point
  /// When it has ended, the image is what a promotion was asked for.
  bool answers_promotion = false;

  /// A promotion has begun it, and nothing was written yet.
  bool Untouched() const { return begun.has_value() && begun->untouched; }
  bool OfPromotion() const { return begun.has_value() && begun->of_promotion; }
  /// What the image's metadata tells from its first change on.
  RollbackMark MarkFrom(OperationContext& context) const;
};

/// What gives it up, and accepts what the image holds now.
std::string HowToGiveUp(const Session& session);

/// UNAVAILABLE: what a promotion has left to do comes first.
absl::Status CheckPromoted(const Session& session, MirrorView* view);

/// FAILED_PRECONDITION: it cannot be rolled back to that point.
absl::StatusOr<RollbackPlan> PlanRollback(const Session& session,
                                          const MirrorView& view,
                                          const RollbackRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_ROLLBACK_PLAN_H_
