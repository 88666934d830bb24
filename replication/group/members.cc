#include "replication/group/members.h"

#include <set>

#include "base/status_macros.h"

namespace addons {

VolumeTarget GroupTarget::Member(size_t i) const {
  return {members[i], user,
          place.cluster == nullptr ? "" : place.cluster->fsid()};
}

absl::StatusOr<JournalMembers> ReadGroupMembers(Resolver& resolver,
                                                const GroupHandle& group_id,
                                                const CephUserRef& user,
                                                SteadyTime deadline) {
  ADDONS_ASSIGN_OR_RETURN(
      const ResolvedGroup group,
      resolver.ResolveGroup(group_id, user, Access::kRead, deadline));
  JournalMembers members;
  members.place = static_cast<const ResolvedPlace&>(group);
  members.name = group.attributes.request_name;
  std::set<OperationKey> keys;
  for (const VolumeHandle& member : group.members()) {
    const auto key = resolver.KeyOfVolume(member);
    if (!key.ok() || keys.insert(*key).second) {
      members.volumes.push_back(member);
    }
  }
  return members;
}

absl::StatusOr<KeySet> GroupKeys(Resolver& resolver,
                                 const GroupHandle& group_id,
                                 const std::vector<VolumeHandle>& members) {
  ADDONS_ASSIGN_OR_RETURN(const OperationKey own,
                          resolver.KeyOfGroup(group_id));
  KeySet keys = {own.ToString()};
  for (const VolumeHandle& member : members) {
    const auto key = resolver.KeyOfVolume(member);
    if (key.ok()) keys.insert(key->ToString());
  }
  return keys;
}

}  // namespace addons
