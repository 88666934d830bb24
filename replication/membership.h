#ifndef ADDONS_REPLICATION_MEMBERSHIP_H_
#define ADDONS_REPLICATION_MEMBERSHIP_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "volume/membership.h"
#include "volume/seen_mirroring.h"

namespace addons {

// A change of the members of a volume group, as replication sees it: while a
// group is replicated, the volumes that come are mirrored like those that are
// there, and those that leave are not mirrored any more.
//
// Whether a group is replicated stands nowhere; its members tell. Volumes that
// come are mirrored when this site is the primary of one of the members that
// stay. Of those that leave, the mirroring ends that was switched on for the
// group (kGroupMark); one that had it before keeps it. Nothing is done
// where this site is the primary of none that stays (of none that leaves, when
// none stays): on a secondary site the primary site's change arrives by itself.
// Members that are gone do not count. Those that the caller has `seen` are not
// looked at again to tell whether the group is replicated.

/// Whether the change can be made, from both: what EnableAdded() and
/// DisableRemoved() would do. Changes nothing. FAILED_PRECONDITION: this site
/// is primary of some members and secondary of others (a move is under way); or
/// a row of Enable() or Disable(). Other codes: GroupCode(), or, when no member
/// could be looked at, what that answered.
absl::Status CheckGroupChange(OperationContext& context,
                              ReplicationEnvironment& environment,
                              const MembershipChange& change,
                              const SeenMirroring& seen);

/// Mirrors the volumes that are added, in the mode and with the schedule of the
/// members that stay: all of them or, where one cannot be, none. Idempotent.
absl::Status EnableAdded(OperationContext& context,
                         ReplicationEnvironment& environment,
                         const MembershipChange& change,
                         const SeenMirroring& seen);

/// Ends the mirroring of the volumes that leave, where it was switched on for
/// the group. Idempotent.
absl::Status DisableRemoved(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const MembershipChange& change,
                            const SeenMirroring& seen);

}  // namespace addons

#endif  // ADDONS_REPLICATION_MEMBERSHIP_H_
