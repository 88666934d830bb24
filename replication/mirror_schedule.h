#ifndef ADDONS_REPLICATION_MIRROR_SCHEDULE_H_
#define ADDONS_REPLICATION_MIRROR_SCHEDULE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"

namespace addons {

// Mirror snapshot schedules of images, kept by the mgr module rbd_support under
// the image's *id*. `spec` is "pool/image" or "pool/namespace/image". Blocking
// as RunMgrCommand(); every function may be repeated.

/// By "pool/namespace/image id" or the like, as the mgr names them: the image's
/// own schedules, not those of its pool.
absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& spec);

/// Afterwards `wanted` is the image's only schedule. Changes nothing when it is
/// so already. The new one is added before old ones go, so that there is always
/// one.
absl::Status EnsureSchedule(OperationContext& context,
                            const ReplicationOptions& options, Cluster& cluster,
                            const std::string& spec,
                            const SnapshotSchedule& wanted);

/// Afterwards the image has no schedule of its own.
absl::Status RemoveSchedules(OperationContext& context,
                             const ReplicationOptions& options,
                             Cluster& cluster, const std::string& spec);

}  // namespace addons

#endif  // ADDONS_REPLICATION_MIRROR_SCHEDULE_H_
