#ifndef ADDONS_REPLICATION_GROUP_MEMBERS_H_
#define ADDONS_REPLICATION_GROUP_MEMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "volume/resolver.h"

namespace addons {

/// The volume group that a verb works on.
struct GroupTarget {
  std::string group_id;
  CephUser user;
  /// Volume ids as this site's journal has them, each volume once.
  std::vector<std::string> members;
};

/// The members of a group from this site's journal, sorted, each volume once:
/// on a peer site one volume may stand there under the ids of both sites.
/// Blocks until `deadline` at most. Errors of Resolver::ResolveGroup().
absl::StatusOr<std::vector<std::string>> ReadGroupMembers(
    Resolver& resolver, const std::string& group_id, const CephUser& user,
    SteadyTime deadline);

/// The keys of the operation table for the group and all its members. A member
/// whose cluster is not configured has none: its own verb explains it. Errors
/// of Resolver::GroupOperationKey(). Asks no cluster.
absl::StatusOr<std::vector<std::string>> GroupKeys(
    Resolver& resolver, const std::string& group_id,
    const std::vector<std::string>& members);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_MEMBERS_H_
