#ifndef ADDONS_REPLICATION_DISABLE_H_
#define ADDONS_REPLICATION_DISABLE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"

namespace addons {

struct DisableRequest {
  VolumeTarget target;
  ReplicationParameters parameters;
};

/// Ends the replication of a volume.
///
/// OK: it is off and this image has no schedule any more; or this site is the
/// secondary of a living primary, then nothing is done, because the primary's
/// disable removes this copy and a forced one here would split the pair.
/// FAILED_PRECONDITION: the peer is not there (or not primary either), and the
/// parameter force: "true" was not given. UNAVAILABLE: repeat the call.
/// Idempotent.
absl::Status Disable(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const DisableRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DISABLE_H_
