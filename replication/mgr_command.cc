#include "replication/mgr_command.h"

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/errors.h"

namespace addons {
namespace {

absl::Status IsAway(const absl::Status& answer) {
  return absl::UnavailableError(
      absl::StrCat("the manager's rbd_support module does not answer "
                   "(`ceph mgr stat` and `ceph mgr module ls` tell why): ",
                   answer.message()));
}

}  // namespace

absl::StatusOr<std::string> RunMgrCommand(OperationContext& context,
                                          const ReplicationOptions& options,
                                          Cluster& cluster,
                                          const std::string& json) {
  const SteadyTime give_up = context.clock().Now() + options.mgr_patience;
  while (true) {
    auto output = cluster.MgrCommand(json);
    const int error = CephErrno(output.status());
    // Switched off, and crashed: that takes a person.
    if (error == EOPNOTSUPP || error == EIO) return IsAway(output.status());
    if (error != EAGAIN && error != ETIMEDOUT) return output;
    if (context.clock().Now() >= give_up) return IsAway(output.status());
    ADDONS_RETURN_IF_ERROR(context.SleepFor(options.poll_interval));
  }
}

absl::StatusOr<std::string> RunNeededMgrCommand(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& json) {
  auto output = RunMgrCommand(context, options, cluster, json);
  if (CephErrno(output.status()) == EINVAL &&
      absl::StrContains(output.status().message(), "No handler found")) {
    return IsAway(output.status());
  }
  return output;
}

}  // namespace addons
