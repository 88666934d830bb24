#ifndef ADDONS_REPLICATION_STEPS_UPKEEP_H_
#define ADDONS_REPLICATION_STEPS_UPKEEP_H_

#include "absl/status/status.h"
#include "base/caller.h"
#include "base/later.h"
#include "operation/operation_context.h"
#include "operation/operation_table.h"
#include "replication/environment.h"

namespace addons {

/// What a background job was answered may be otherwise in minutes, without a
/// person.
bool MayPass(const absl::Status& status);

struct UpkeepRequest {
  VolumeTarget target;
};

/// Makes up for what the verbs could not do, or had no reason to do when they
/// ran: sets the schedule that a promote asked for while the manager was away,
/// and writes down that the image is a clone, since when it is primary, that
/// its first copy is whole, and who may mount it (MountRestrictionDue()).
/// Replication info tells when it is due (ReplicationInfo::upkeep), and
/// BackgroundUpkeep remembers it; nobody promotes a primary again.
///
/// Only on a primary; elsewhere OK and nothing is done. UNAVAILABLE: the
/// manager does not answer still. Idempotent.
absl::Status KeepUp(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const UpkeepRequest& request);

/// KeepUp() of one volume as an operation, for `caller`. Errors are also those
/// of OperationTable::Start() and of a volume id that is none.
Later<absl::Status> RunKeepUp(OperationTable& operations,
                              ReplicationEnvironment& environment,
                              const VolumeTarget& target, const Caller& caller);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_UPKEEP_H_
