#ifndef ADDONS_REPLICATION_GROUP_MEMBERSHIP_H_
#define ADDONS_REPLICATION_GROUP_MEMBERSHIP_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group_members.h"
#include "replication/parameters.h"

namespace addons {

/// A change of the members of a volume group, as replication sees it: while a
/// group is replicated, the volumes that come are mirrored like those that are
/// there, and those that leave are not mirrored any more.
///
/// Whether a group is replicated stands nowhere; its members tell. Volumes that
/// come are mirrored when this site is the primary of one of the members that
/// stay. Mirroring of those that leave ends when this site is the primary of
/// all that stay (of one that leaves, when none stays): otherwise volumes that
/// are mirrored each for itself would lose that unasked. Members that are gone
/// do not count. On a secondary site nothing is done: there the primary site's
/// change arrives by itself.
struct GroupChange {
  std::string group_id;
  CephUser user;
  std::vector<std::string> kept;  // volume ids
  std::vector<std::string> added;
  std::vector<std::string> removed;
  FlattenMode flatten = FlattenMode::kNever;  // for volumes that are added
};

/// Whether the change can be made, from both: what EnableAdded() and
/// DisableRemoved() would do. Changes nothing. FAILED_PRECONDITION: this site
/// is primary of some members and secondary of others (a move is under way); or
/// a row of Enable() or Disable(). Other codes: GroupCode(), or, when no member
/// could be looked at, what that answered.
absl::Status CheckGroupChange(OperationContext& context,
                              ReplicationEnvironment& environment,
                              const GroupChange& change);

/// Mirrors the volumes that are added, in the mode and with the schedule of the
/// members that stay: all of them or, where one cannot be, none. Idempotent.
absl::Status EnableAdded(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const GroupChange& change);

/// Ends the mirroring of the volumes that leave. Idempotent.
absl::Status DisableRemoved(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const GroupChange& change);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_MEMBERSHIP_H_
