#include "points/rollback.h"

#include "base/status_macros.h"
#include "replication/look/point.h"
#include "replication/session.h"
#include "replication/steps/rollback_plan.h"

namespace addons {

absl::StatusOr<Rollback> RollBackToPoint(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         const RollbackRequest& request) {
  ADDONS_RETURN_IF_ERROR(CheckPointName(request.point));
  if (!request.kept.empty()) {
    ADDONS_RETURN_IF_ERROR(CheckPointName(request.kept));
  }
  return RunForResult<Rollback>(
      context, environment, target, kRollbackAction,
      [&](Session& session) { return RollBack(session, request); });
}

}  // namespace addons
