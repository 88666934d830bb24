#ifndef ADDONS_REPLICATION_STEPS_MGR_COMMAND_H_
#define ADDONS_REPLICATION_STEPS_MGR_COMMAND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/options.h"
#include "volume/resolved.h"

namespace addons {

/// Runs a command of the mgr module rbd_support. A module that is starting
/// (EAGAIN) or a mgr that does not answer (ETIMEDOUT) is waited for, up to
/// options.mgr_patience, one that is switched off (EOPNOTSUPP) or has crashed
/// (EIO) is not; then UNAVAILABLE. Other errors are those of the command, and
/// of OperationContext::LookAgainAfter(), by which it waits.
absl::StatusOr<std::string> RunMgrCommand(OperationContext& context,
                                          const ReplicationOptions& options,
                                          Cluster& cluster,
                                          const std::string& json);

/// RunMgrCommand() of a command that every release has: a manager that does not
/// know it (EINVAL "No handler found") lacks the module. UNAVAILABLE as well.
absl::StatusOr<std::string> RunNeededMgrCommand(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& json);

/// To be asked before a command that has the manager write into the volume's
/// pool. UNAVAILABLE: that is full, so it would wait there with a lock, and no
/// image of any pool would get a mirror snapshot by schedule any more (16.2.15,
/// findings/schedule-of-a-full-pool-stops-all-schedules.sh). OK also where the
/// monitors do not tell. Blocks for one question to them.
absl::Status ManagerCanWrite(const ResolvedVolume& volume);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_MGR_COMMAND_H_
