#include "replication/group/demote.h"

#include "base/log.h"
#include "base/status_macros.h"
#include "replication/group/group_run.h"
#include "replication/group/rbd_group.h"
#include "replication/steps/demote.h"

namespace addons {
namespace {

/// Members that are kept from being demoted tell the other site.
void TellOfRefusals(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const GroupTarget& target, const absl::Status& refusal,
                    GroupRun& run) {
  for (const GroupMember& member : run.members()) {
    const absl::Status told = TellRefusedDemotion(
        context, environment, {member.volume_id, target.user}, member.status,
        refusal);
    if (!told.ok()) {
      Log().warn(
          "the other site was not told that volume={} is to be demoted: {}",
          Quoted(member.volume_id.text()), told.ToString());
    }
  }
}

absl::Status DemoteMembers(OperationContext& context,
                           ReplicationEnvironment& environment,
                           const GroupTarget& target) {
  GroupRun run(context, environment.options, target,
               {target.group_id, "demote", "being demoted", "demoted"},
               [&](OperationContext& member, const VolumeTarget& volume) {
                 // Nobody waits where one is refused, or demoted already.
                 const bool may_hold =
                     member.only_looks() && !AnyFailed(run.members());
                 return Demote(member, environment,
                               {volume, VerbScope::kGroupMember, may_hold});
               });
  absl::Status status = RunAllOrNone(run);
  if (!status.ok() && !RunsAgain(status)) {
    TellOfRefusals(context, environment, target, status, run);
  }
  return status;
}

}  // namespace

absl::Status DemoteGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target) {
  if (target.members.empty()) return absl::OkStatus();
  absl::Status demoted = DemoteMembers(context, environment, target);
  // Nothing was changed.
  if (!demoted.ok() && !context.mutating()) return demoted;
  const absl::Status left = LeaveRbdGroup(context, environment, target);
  return demoted.ok() ? left : demoted;
}

}  // namespace addons
