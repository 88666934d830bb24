#ifndef ADDONS_REPLICATION_PROMOTE_H_
#define ADDONS_REPLICATION_PROMOTE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"

namespace addons {

struct PromoteRequest {
  VolumeTarget target;
  Force force = Force::kNo;
  ReplicationParameters parameters;
};

/// Makes this site's image the primary one.
///
///   look ──> decide ──kWait──> sleep ──> look ...
///              │ kPlain, kForced
///              └──> begin mutation ──> promote ──busy──> sleep ──> look ...
///                                        └──> read back ──> complete a
///                                        half-done
///            kAlreadyPrimary ────────────────────┘          promotion ──>
///            schedule,
///                                                           image id ──> OK
///
/// OK: the image was read back as primary with a complete snapshot, its
/// schedule is the wanted one. FAILED_PRECONDITION: replication is off, or
/// promoting by force is the only way (the operator does it at once).
/// UNAVAILABLE: repeat the call. Idempotent; only waits until it begins to
/// mutate.
absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PROMOTE_H_
