#include "replication/mgr_command.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"

namespace addons {

absl::StatusOr<std::string> RunMgrCommand(OperationContext& context,
                                          const ReplicationOptions& options,
                                          Cluster& cluster,
                                          const std::string& json) {
  const SteadyTime give_up = context.clock().Now() + options.mgr_patience;
  while (true) {
    auto output = cluster.MgrCommand(json);
    const int error = CephErrno(output.status());
    if (error != EAGAIN && error != ETIMEDOUT) return output;
    if (context.clock().Now() >= give_up) {
      return absl::UnavailableError(
          absl::StrCat("the manager's rbd_support module does not answer "
                       "(`ceph mgr stat` and `ceph mgr module ls` tell why): ",
                       output.status().message()));
    }
    ADDONS_RETURN_IF_ERROR(context.SleepFor(options.poll_interval));
  }
}

}  // namespace addons
