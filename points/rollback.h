#ifndef ADDONS_POINTS_ROLLBACK_H_
#define ADDONS_POINTS_ROLLBACK_H_

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/steps/roll_back.h"

namespace addons {

/// RollBack() as a call of its own. INVALID_ARGUMENT: a name that is none.
absl::StatusOr<Rollback> RollBackToPoint(OperationContext& context,
                                         ReplicationEnvironment& environment,
                                         const VolumeTarget& target,
                                         const RollbackRequest& request);

}  // namespace addons

#endif  // ADDONS_POINTS_ROLLBACK_H_
