#include "replication/group/disable.h"

#include "base/log.h"
#include "replication/group/group_run.h"
#include "replication/steps/disable.h"
#include "volume/volume_id.h"

namespace addons {
namespace {

absl::Status DisableMember(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const VolumeTarget& volume,
                           const ReplicationParameters& parameters) {
  absl::Status status = Disable(context, environment, {volume, parameters});
  if (!NeedsNoDisable(volume.volume_id, status)) return status;
  Log().warn(
      "a member of a volume group is gone, so it needs no disable "
      "volume={} reason={}",
      Quoted(volume.volume_id.text()), Quoted(status.message()));
  return absl::OkStatus();
}

}  // namespace

bool NeedsNoDisable(const VolumeHandle& volume_id, const absl::Status& answer) {
  // One of a version that this build does not read may be mirrored.
  const bool unread =
      VolumeId::HasShape(volume_id.text()) && !volume_id.id().ok();
  return !unread &&
         (absl::IsNotFound(answer) || absl::IsInvalidArgument(answer));
}

GroupText DisableText(const GroupHandle& group_id) {
  return {group_id, "disable replication of", "being disabled",
          "not replicated any more, or left to their primary"};
}

absl::Status DisableGroup(OperationContext& context,
                          ReplicationEnvironment& environment,
                          const GroupTarget& target,
                          const ReplicationParameters& parameters) {
  GroupRun run(context, environment.options, target,
               DisableText(target.group_id),
               [&](OperationContext& member, const VolumeTarget& volume) {
                 return DisableMember(member, environment, volume, parameters);
               });
  return RunAllOrNone(run);
}

}  // namespace addons
