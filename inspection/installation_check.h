#ifndef ADDONS_INSPECTION_INSTALLATION_CHECK_H_
#define ADDONS_INSPECTION_INSTALLATION_CHECK_H_

#include <string>

#include "base/bounded_threads.h"
#include "doctor/check_cluster.h"
#include "doctor/finding.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

// What doctor (doctor/diagnose.h) asks of replication. All of it reads only,
// blocks as Ceph's timeouts say, and finds nothing where nobody waits any more.

/// Whether what is primary in the pool is copied as its schedules say: a
/// warning from two intervals on, a problem from three. Opens no image.
Findings CheckPace(OperationContext& context,
                   ReplicationEnvironment& environment,
                   const MirroredPlace& place);

/// What speaks against taking over from another server now, as far as Ceph
/// shows it: volumes in the middle of a move, mirrored clones, groups that are
/// not whole, what calls that died have left, fences that are half changed.
/// Opens each mirrored image twice. `instance_id` is the driver's.
Findings CheckBeforeHandover(OperationContext& context,
                             ReplicationEnvironment& environment,
                             BoundedThreads& threads,
                             const MirroredPlace& place,
                             const std::string& instance_id);

}  // namespace addons

#endif  // ADDONS_INSPECTION_INSTALLATION_CHECK_H_
