#include "volumegroup/change_members.h"

#include <memory>

#include "base/status_macros.h"
#include "ceph/pool.h"
#include "volume/group_journal.h"
#include "volumegroup/group_history.h"

namespace addons {
namespace {

/// The volume ids of the views whose result is OK.
std::vector<VolumeHandle> Done(const std::vector<MemberView>& views,
                               const std::vector<absl::Status>& results) {
  std::vector<VolumeHandle> ids;
  for (size_t i = 0; i < views.size(); ++i) {
    if (results[i].ok()) ids.push_back(views[i].volume_id);
  }
  return ids;
}

absl::Status Add(OperationContext& context,
                 const VolumeGroupEnvironment& environment,
                 const ResolvedGroup& group, const MembershipChange& change,
                 const SeenMirroring& seen, Pool& pool,
                 const std::vector<MemberView>& added) {
  if (added.empty()) return absl::OkStatus();
  context.Step("adding volumes");
  // A group that came here with the journal alone has no rbd group yet.
  ADDONS_RETURN_IF_ERROR(group.MakeRbdGroup());
  const std::vector<absl::Status> results = Attach(environment, group, added);
  const std::vector<VolumeHandle> attached = Done(added, results);
  if (!attached.empty()) {
    context.Step("replicating the new volumes");
    ADDONS_RETURN_IF_ERROR(environment.replication.join(context,
                                                        {group.group_id,
                                                         change.user,
                                                         change.kept,
                                                         attached,
                                                         {},
                                                         change.flatten},
                                                        seen));
    ADDONS_RETURN_IF_ERROR(GroupJournal(pool).AddMembers(group.uuid, attached));
    NoteMembers(environment, group, change.user, Membership::kJoined, attached,
                added);
  }
  return FirstProblem(added, results);
}

absl::Status Remove(OperationContext& context,
                    const VolumeGroupEnvironment& environment,
                    const ResolvedGroup& group, const MembershipChange& change,
                    const SeenMirroring& seen, Pool& pool,
                    const std::vector<MemberView>& removed) {
  if (removed.empty()) return absl::OkStatus();
  if (!change.removed.empty()) {
    context.Step("ending the replication of volumes that leave");
    ADDONS_RETURN_IF_ERROR(
        environment.replication.leave(context, change, seen));
  }
  context.Step("removing volumes");
  const std::vector<absl::Status> results = Detach(environment, group, removed);
  const std::vector<VolumeHandle> gone = Done(removed, results);
  if (!gone.empty()) {
    ADDONS_RETURN_IF_ERROR(GroupJournal(pool).RemoveMembers(group.uuid, gone));
    NoteMembers(environment, group, change.user, Membership::kLeft, gone,
                removed);
  }
  return FirstProblem(removed, results);
}

}  // namespace

absl::Status ChangeMembers(OperationContext& context,
                           const VolumeGroupEnvironment& environment,
                           const ResolvedGroup& group,
                           const MembershipChange& change,
                           const SeenMirroring& seen,
                           const std::vector<MemberView>& added,
                           const std::vector<MemberView>& removed) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          group.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(
      Add(context, environment, group, change, seen, *pool, added));
  return Remove(context, environment, group, change, seen, *pool, removed);
}

}  // namespace addons
