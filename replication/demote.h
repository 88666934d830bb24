#ifndef ADDONS_REPLICATION_DEMOTE_H_
#define ADDONS_REPLICATION_DEMOTE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

struct DemoteRequest {
  VolumeTarget target;
};

/// Makes this site's primary image a secondary, so that the peer can be
/// promoted.
///
///   look ──> not primary ──> whole? ──> OK
///     │                        └──> half-done: promote, then as primary
///     └──> primary ──> in use? ──> refused
///                        └──> creation time ──> demote ──> read back ──> OK
///
/// OK: the image was read back as not primary, and its demotion is whole (also
/// when it was so before). FAILED_PRECONDITION: replication is off, or a
/// workload has the image open (librbd would take it away from under it).
/// UNAVAILABLE: repeat the call. Idempotent.
absl::Status Demote(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const DemoteRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_DEMOTE_H_
