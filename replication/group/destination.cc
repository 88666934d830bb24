#include "replication/group/destination.h"

#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/status_macros.h"
#include "replication/group/member_status.h"

namespace addons {
namespace {

/// The operator asks again, which is all that can be done about it.
absl::Status NotYet(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message())
                                  : status;
}

}  // namespace

absl::StatusOr<GroupDestination> FindGroupDestination(
    ReplicationEnvironment& environment, DestinationFinder& finder,
    const GroupHandle& group_id, const CephUserRef& user, SteadyTime deadline) {
  const auto group = environment.resolver.ResolveGroup(group_id, user,
                                                       Access::kRead, deadline);
  if (!group.ok()) return NotYet(group.status());
  GroupDestination destination;
  ADDONS_ASSIGN_OR_RETURN(destination.group_id, finder.IdOfGroup(*group));

  GroupMembers members;
  for (const VolumeHandle& volume_id : group->members()) {
    members.emplace_back().volume_id = volume_id;
  }
  std::vector<std::string> ids(members.size());
  RunParallel(
      members.size(), environment.options.group_members_at_once, [&](size_t i) {
        auto id = finder.Find({members[i].volume_id, user}, deadline);
        members[i].state = id.ok() ? MemberState::kDone : MemberState::kFailed;
        members[i].status = id.status();
        if (id.ok()) ids[i] = *std::move(id);
      });
  if (AnyFailed(members)) {
    return absl::Status(
        GroupCode(members),
        DescribeFailure({group_id, "find the destination of", "", "found"},
                        members));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    destination.volume_ids[members[i].volume_id.text()] = std::move(ids[i]);
  }
  return destination;
}

}  // namespace addons
