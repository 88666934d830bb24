#ifndef ADDONS_VOLUMEGROUP_LIST_H_
#define ADDONS_VOLUMEGROUP_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "volumegroup/environment.h"

namespace addons {

struct ListGroupsRequest {
  size_t max_entries = 0;      // 0: as many as fit into one answer
  std::string starting_token;  // empty: from the beginning
  CephUserRef user;
};

struct GroupPage {
  std::vector<GroupAnswer> groups;  // their members without details
  std::string next_token;           // empty: this was the last page
};

/// The volume groups of all clusters of this site, pools and namespaces of
/// config.json that the user may read, ordered by cluster id, pool id and name.
/// Entries that are no groups (volume group snapshots, reservations) are left
/// out.
///
/// A token names the entry that a page ended with; the next page begins after
/// that place, whatever was created or deleted since. A page costs one read per
/// group in it and one per pool, however many groups there are.
///
/// ABORTED: the token is none. UNAVAILABLE: a cluster does not answer (part of
/// a list would look as if groups were gone). UNAUTHENTICATED: no cluster takes
/// the user.
absl::StatusOr<GroupPage> ListGroups(const VolumeGroupEnvironment& environment,
                                     const ListGroupsRequest& request);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_LIST_H_
