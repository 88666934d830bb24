#ifndef ADDONS_VOLUMEGROUP_ADOPT_H_
#define ADDONS_VOLUMEGROUP_ADOPT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"
#include "volumegroup/members.h"

namespace addons {

// After a failover an orchestrator names a group by the id that it has on this
// site, which the journal here may not have: nobody made the group here. What
// names all of its volumes tells enough to write the journal.

/// The group of this id as it is to be written here: where it stands and what
/// it is called, without members. Its request name is that of its rbd group,
/// because nobody here knows the one that it was made with. `name_prefix`
/// counts unless an adoption that was interrupted has a name already. Changes
/// nothing. Errors of Resolver::PlaceForGroup().
absl::StatusOr<ResolvedGroup> GroupToAdopt(
    const VolumeGroupEnvironment& environment, const GroupHandle& group_id,
    const CephUserRef& user, const std::string& name_prefix);

/// What an interrupted adoption of the group has left; nullopt: nothing.
absl::StatusOr<std::optional<ResolvedGroup>> HalfAdopted(
    const VolumeGroupEnvironment& environment, const GroupHandle& group_id,
    const CephUserRef& user);

/// Whether a group may be made of `members`, which are all of its volumes.
/// NOT_FOUND names one that is not here. Otherwise as CheckMayJoin().
absl::Status CheckMayAdopt(const ResolvedGroup& group,
                           const std::vector<MemberView>& members);

/// Writes `group` with `members` into the journal of this site, as Create would
/// have done. The lease is held, CheckMayAdopt() was OK and BeginMutation()
/// called. Replication of the members stays as it is.
///
// clang-format off
///   Write()   Reserve()       "reserving the name"           directory: name to uuid
///             Claim()                                        journal object: the name
///             MakeRbdGroup()  "creating the rbd group"
///             Attach()        "adding volumes"               rbd group: those that are not secondary
///             Publish()       "writing the journal entry"    names and members, all at once
// clang-format on
///
/// No verb sees the group before the last step, and then whole: a Demote of a
/// group without members would be OK. Idempotent; the same call finishes one
/// that was interrupted, and Delete removes what it left. ABORTED: another
/// client writes the same group.
absl::Status Adopt(OperationContext& context,
                   const VolumeGroupEnvironment& environment,
                   const CephUserRef& user, ResolvedGroup group,
                   const std::vector<MemberView>& members);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_ADOPT_H_
