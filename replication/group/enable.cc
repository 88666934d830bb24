#include "replication/group/enable.h"

#include "absl/strings/str_cat.h"
#include "base/parameter_keys.h"
#include "replication/group/group_run.h"
#include "replication/steps/enable.h"

namespace addons {
namespace {

constexpr char kParameter[] = "groupReplication";

}  // namespace

absl::Status CheckGroupReplication(const ReplicationOptions& options,
                                   const ParameterMap& parameters) {
  const auto it = parameters.find(kParameter);
  if (it == parameters.end()) {
    if (options.group_members_by_default) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "this Ceph cannot mirror a volume group as a whole, only each member "
        "for itself: a planned move is consistent across the members, a "
        "failover by force is not; if that is what you want, set the "
        "parameter ",
        kParameter,
        ": \"members\" in the VolumeReplicationClass, or start this daemon "
        "with --group-replication=members for classes that somebody else "
        "writes"));
  }
  if (it->second == "members") return absl::OkStatus();
  return InvalidParameter(kParameter, it->second, "must be 'members'");
}

absl::Status EnableGroup(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupTarget& target,
                         const ReplicationParameters& parameters) {
  if (target.members.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Failed to enable replication of volume group '",
                     target.group_id.text(),
                     "': it has no members, so nothing would be replicated; "
                     "add volumes first"));
  }
  GroupRun run(
      context, environment.options, target,
      {target.group_id, "enable replication of", "being enabled", "replicated"},
      [&](OperationContext& member, const VolumeTarget& volume) {
        return Enable(member, environment,
                      {volume, parameters, VerbScope::kGroupMember});
      });
  return RunAllOrNone(run);
}

}  // namespace addons
