#include "replication/steps/mgr_command.h"

#include <cerrno>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/cluster_health.h"
#include "ceph/errors.h"

namespace addons {
namespace {

absl::Status IsAway(const absl::Status& answer) {
  return absl::UnavailableError(
      absl::StrCat("the manager's rbd_support module does not answer "
                   "(`ceph mgr stat` and `ceph mgr module ls` tell why): ",
                   answer.message()));
}

/// Since when the manager is waited for.
struct AwaitedMgr {
  std::optional<SteadyTime> since;
};

}  // namespace

absl::StatusOr<std::string> RunMgrCommand(OperationContext& context,
                                          const ReplicationOptions& options,
                                          Cluster& cluster,
                                          const std::string& json) {
  const SteadyTime began = context.clock().Now();
  while (true) {
    auto output = cluster.MgrCommand(json);
    const int error = CephErrno(output.status());
    // Switched off, and crashed: that takes a person.
    const bool for_good = error == EOPNOTSUPP || error == EIO;
    const bool away = error == EAGAIN || error == ETIMEDOUT || for_good;
    const SteadyTime since =
        context.memory().Of<AwaitedMgr>().since.value_or(began);
    if (!away || for_good ||
        context.clock().Now() - since >= options.mgr_patience) {
      context.memory().Forget<AwaitedMgr>();
      return away ? IsAway(output.status()) : output;
    }
    context.memory().Of<AwaitedMgr>().since = since;
    ADDONS_RETURN_IF_ERROR(context.LookAgainAfter(options.poll_interval));
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

absl::Status ManagerCanWrite(const ResolvedVolume& volume) {
  const auto traits = ReadPoolTraits(*volume.cluster, volume.pool_id);
  if (!traits.ok() || !traits->full) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "Ceph's manager is not asked, because pool '", volume.pool_name,
      "' is full or its quota is reached: it would wait there, and no image of "
      "any pool would get mirror snapshots by schedule; free space or raise "
      "the quota, then repeat the call"));
}

}  // namespace addons
