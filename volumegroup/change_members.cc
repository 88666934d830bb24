#include "volumegroup/change_members.h"

#include <memory>
#include <string>

#include "base/status_macros.h"
#include "volume/group_journal.h"

namespace addons {
namespace {

/// The volume ids of the views whose result is OK.
std::vector<std::string> Done(const std::vector<MemberView>& views,
                              const std::vector<absl::Status>& results) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < views.size(); ++i) {
    if (results[i].ok()) ids.push_back(views[i].volume_id);
  }
  return ids;
}

absl::Status Add(OperationContext& context,
                 const VolumeGroupEnvironment& environment,
                 const MembershipChange& change, Pool& pool,
                 const std::vector<MemberView>& added) {
  if (added.empty()) return absl::OkStatus();
  context.Step("adding volumes");
  // A group that came here with the journal alone has no rbd group yet.
  ADDONS_RETURN_IF_ERROR(change.group.MakeRbdGroup());
  const std::vector<absl::Status> results =
      Attach(environment, change.group, added);
  MembershipChange attached = change;
  attached.added = Done(added, results);
  attached.removed.clear();
  if (!attached.added.empty()) {
    context.Step("replicating the new volumes");
    ADDONS_RETURN_IF_ERROR(environment.replication.Join(context, attached));
    ADDONS_RETURN_IF_ERROR(
        GroupJournal(pool).AddMembers(change.group.uuid, attached.added));
  }
  return FirstProblem(added, results);
}

absl::Status Remove(OperationContext& context,
                    const VolumeGroupEnvironment& environment,
                    const MembershipChange& change, Pool& pool,
                    const std::vector<MemberView>& removed) {
  if (removed.empty()) return absl::OkStatus();
  if (!change.removed.empty()) {
    context.Step("ending the replication of volumes that leave");
    ADDONS_RETURN_IF_ERROR(environment.replication.Leave(context, change));
  }
  context.Step("removing volumes");
  const std::vector<absl::Status> results =
      Detach(environment, change.group, removed);
  const std::vector<std::string> gone = Done(removed, results);
  if (!gone.empty()) {
    ADDONS_RETURN_IF_ERROR(
        GroupJournal(pool).RemoveMembers(change.group.uuid, gone));
  }
  return FirstProblem(removed, results);
}

}  // namespace

absl::Status ChangeMembers(OperationContext& context,
                           const VolumeGroupEnvironment& environment,
                           const MembershipChange& change,
                           const std::vector<MemberView>& added,
                           const std::vector<MemberView>& removed) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          change.group.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(Add(context, environment, change, *pool, added));
  return Remove(context, environment, change, *pool, removed);
}

}  // namespace addons
