#ifndef ADDONS_REPLICATION_GROUP_DESTINATION_H_
#define ADDONS_REPLICATION_GROUP_DESTINATION_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "replication/destination.h"
#include "replication/environment.h"

namespace addons {

struct GroupDestination {
  std::string group_id;
  std::map<std::string, std::string> volume_ids;  // of all members, by source
};

/// Under which ids the peer site knows a group and its members: all of them, or
/// an error. UNAVAILABLE: this site's journal does not have the group (yet), or
/// a member does not exist; the message names it. Others as for
/// DestinationFinder::Find(). Blocks until `deadline` at most.
absl::StatusOr<GroupDestination> FindGroupDestination(
    ReplicationEnvironment& environment, DestinationFinder& finder,
    const GroupHandle& group_id, const CephUserRef& user, SteadyTime deadline);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_DESTINATION_H_
