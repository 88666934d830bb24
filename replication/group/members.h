#ifndef ADDONS_REPLICATION_GROUP_MEMBERS_H_
#define ADDONS_REPLICATION_GROUP_MEMBERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/cluster.h"
#include "operation/growing_keys.h"
#include "replication/environment.h"
#include "volume/resolver.h"

namespace addons {

/// The volume group that a verb works on.
struct GroupTarget {
  GroupHandle group_id;
  CephUserRef user;
  /// As this site's journal has them, each volume once.
  std::vector<VolumeHandle> members;
  /// Where its journal is; without a cluster: not known.
  ResolvedPlace place{};

  /// On the cluster of the group, where that is known.
  VolumeTarget Member(size_t i) const;
};

/// What the journal says of a group.
struct JournalMembers {
  std::vector<VolumeHandle> volumes;  // sorted, each volume once
  ResolvedPlace place;                // of the journal
  std::string name;                   // of the request that made the group

  const std::string& fsid() const { return place.cluster->fsid(); }
};

/// The members of a group from this site's journal. Each volume once: on a peer
/// site one volume may stand there under the ids of both sites.
/// Blocks until `deadline` at most. Errors of Resolver::ResolveGroup().
absl::StatusOr<JournalMembers> ReadGroupMembers(Resolver& resolver,
                                                const GroupHandle& group_id,
                                                const CephUserRef& user,
                                                SteadyTime deadline);

/// The keys of the operation table for the group and all its members. A member
/// whose cluster is not configured has none: its own verb explains it. Errors
/// of Resolver::KeyOfGroup(). Asks no cluster.
absl::StatusOr<KeySet> GroupKeys(Resolver& resolver,
                                 const GroupHandle& group_id,
                                 const std::vector<VolumeHandle>& members);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_MEMBERS_H_
