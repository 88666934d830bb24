#ifndef ADDONS_REPLICATION_ENABLE_H_
#define ADDONS_REPLICATION_ENABLE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"

namespace addons {

struct EnableRequest {
  VolumeTarget target;
  ReplicationParameters parameters;
};

/// Switches replication of a volume on; this site's image becomes primary.
///
/// OK: it is on in the wanted mode (also on a secondary). FAILED_PRECONDITION:
/// on in the other mode; the pool is not mirrored per image or has no peer; the
/// parent cannot be mirrored: the message names the command that helps.
/// UNAVAILABLE: it is being disabled or replaced at the moment. The schedule is
/// set by promote. Idempotent.
absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_ENABLE_H_
