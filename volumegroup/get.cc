#include "volumegroup/get.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "volumegroup/members.h"

namespace addons {

absl::StatusOr<GroupAnswer> GetGroup(const VolumeGroupEnvironment& environment,
                                     const GroupHandle& group_id,
                                     const CephUserRef& user,
                                     SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(const ResolvedGroup group,
                          environment.resolver.ResolveGroup(
                              group_id, user, Access::kRead, deadline));
  GroupAnswer answer;
  answer.group_id = group_id.text();
  std::vector<std::string> broken;
  for (const MemberView& view : MeasureMembers(
           environment, user, group.members(), Access::kRead, deadline)) {
    if (!view.problem.ok()) broken.push_back(view.volume_id.text());
    answer.volumes.push_back(ToAnswer(view));
  }
  if (!broken.empty()) {
    answer.context["brokenMembers"] = absl::StrJoin(broken, ",");
  }
  return answer;
}

}  // namespace addons
