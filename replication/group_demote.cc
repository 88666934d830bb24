#include "replication/group_demote.h"

#include "replication/demote.h"
#include "replication/group_run.h"

namespace addons {

absl::Status DemoteGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target) {
  GroupRun run(context, environment.options, target,
               {target.group_id, "demote", "being demoted", "demoted"},
               [&](OperationContext& member, const VolumeTarget& volume) {
                 return Demote(member, environment,
                               {{volume.volume_id, volume.user.Clone()}});
               });
  return RunAllOrNone(run);
}

}  // namespace addons
