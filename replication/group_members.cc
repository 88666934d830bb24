#include "replication/group_members.h"

#include <set>
#include <utility>

#include "base/status_macros.h"

namespace addons {

absl::StatusOr<std::vector<std::string>> ReadGroupMembers(
    Resolver& resolver, const std::string& group_id, const CephUser& user,
    SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(const ResolvedGroup group,
                          resolver.ResolveGroup(group_id, user, deadline));
  std::vector<std::string> members;
  std::set<std::string> keys;
  for (const std::string& member : group.members()) {
    const auto key = resolver.OperationKey(member);
    if (!key.ok() || keys.insert(*key).second) members.push_back(member);
  }
  return members;
}

absl::StatusOr<std::vector<std::string>> GroupKeys(
    Resolver& resolver, const std::string& group_id,
    const std::vector<std::string>& members) {
  ADDONS_ASSIGN_OR_RETURN(std::string own,
                          resolver.GroupOperationKey(group_id));
  std::vector<std::string> keys = {std::move(own)};
  for (const std::string& member : members) {
    auto key = resolver.OperationKey(member);
    if (key.ok()) keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace addons
