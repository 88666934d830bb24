#ifndef ADDONS_REPLICATION_PARENT_H_
#define ADDONS_REPLICATION_PARENT_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

/// Makes sure that a clone can be mirrored. OK: the image has no parent (any
/// more), or, with FlattenMode::kNever, its parent is mirrored.
/// FAILED_PRECONDITION (only with kNever) tells a parent in the trash from one
/// that is not mirrored.
///
/// With FlattenMode::kForce the image is flattened, by the manager's task queue
/// or, where that does not exist, in this process; progress is reported; the
/// work goes on without callers.
absl::Status PrepareParent(OperationContext& context,
                           const ReplicationEnvironment& environment,
                           Session& session, FlattenMode mode);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PARENT_H_
