#include "replication/group_demote.h"

#include "base/status_macros.h"
#include "replication/demote.h"
#include "replication/group_run.h"
#include "replication/rbd_group.h"
#include "replication/session.h"

namespace addons {

absl::Status DemoteGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target) {
  if (target.members.empty()) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(
      const ResolvedGroup group,
      environment.resolver.ResolveGroup(target.group_id, target.user,
                                        ResolveDeadline(context)));
  GroupRun run(
      context, environment.options, target,
      {target.group_id, "demote", "being demoted", "demoted"},
      [&](OperationContext& member, const VolumeTarget& volume) {
        const absl::Status demoted = Demote(
            member, environment, {{volume.volume_id, volume.user.Clone()}});
        return demoted.ok() ? LeaveRbdGroup(member, environment, group, volume)
                            : demoted;
      });
  return RunAllOrNone(run);
}

}  // namespace addons
