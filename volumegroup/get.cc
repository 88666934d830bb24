#include "volumegroup/get.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "volumegroup/members.h"

namespace addons {

absl::StatusOr<GroupAnswer> GetGroup(const VolumeGroupEnvironment& environment,
                                     const std::string& group_id,
                                     const CephUser& user,
                                     SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      const ResolvedGroup group,
      environment.resolver.ResolveGroup(group_id, user, deadline));
  GroupAnswer answer;
  answer.group_id = group_id;
  std::vector<std::string> broken;
  for (const MemberView& view :
       LookAtMembers(environment, user, group.members(), deadline)) {
    if (!view.problem.ok()) broken.push_back(view.volume_id);
    answer.volumes.push_back(ToAnswer(view));
  }
  if (!broken.empty()) {
    answer.context["brokenMembers"] = absl::StrJoin(broken, ",");
  }
  return answer;
}

}  // namespace addons
