#include "replication/group/disable.h"

#include "base/log.h"
#include "replication/disable.h"
#include "replication/group/group_run.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

absl::Status DisableMember(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const VolumeTarget& volume,
                           const ReplicationParameters& parameters) {
  absl::Status status = Disable(context, environment, {volume, parameters});
  if (!absl::IsNotFound(status) && !absl::IsInvalidArgument(status)) {
    return status;
  }
  // One of a version that this build does not read may be mirrored.
  if (VolumeId::HasShape(volume.volume_id.text()) &&
      !volume.volume_id.id().ok()) {
    return status;
  }
  Log().warn(
      "a member of a volume group is gone, so it needs no disable "
      "volume={} reason={}",
      Quoted(volume.volume_id.text()), Quoted(status.message()));
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
