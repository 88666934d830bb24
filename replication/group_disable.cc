#include "replication/group_disable.h"

#include "base/log.h"
#include "replication/disable.h"
#include "replication/group_run.h"

namespace addons {
namespace {

absl::Status DisableMember(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const VolumeTarget& volume,
                           const ReplicationParameters& parameters) {
  const auto key = environment.resolver.OperationKey(volume.volume_id);
  if (absl::IsNotFound(key.status())) {
    return absl::UnavailableError(key.status().message());
  }
  absl::Status status =
      key.ok() ? Disable(context, environment,
                         {{volume.volume_id, volume.user.Clone()}, parameters})
               : key.status();
  if (!absl::IsNotFound(status) && !absl::IsInvalidArgument(status)) {
    return status;
  }
  Log().warn(
      "a member of a volume group is gone, so it needs no disable "
      "volume={} reason={}",
      Quoted(volume.volume_id), Quoted(status.message()));
  return absl::OkStatus();
}

}  // namespace

absl::Status DisableGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target,
                          const ReplicationParameters& parameters) {
  GroupRun run(context, environment.options, target,
               {target.group_id, "disable replication of", "being disabled",
                "not replicated any more, or left to their primary"},
               [&](OperationContext& member, const VolumeTarget& volume) {
                 return DisableMember(member, environment, volume, parameters);
               });
  return RunAllOrNone(run);
}

}  // namespace addons
