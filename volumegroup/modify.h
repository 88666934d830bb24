#ifndef ADDONS_VOLUMEGROUP_MODIFY_H_
#define ADDONS_VOLUMEGROUP_MODIFY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/growing_keys.h"
#include "operation/operation_context.h"
#include "volume/membership.h"
#include "volumegroup/environment.h"
#include "volumegroup/parameters.h"

namespace addons {

struct ModifyGroupRequest {
  GroupHandle group_id;
  std::vector<VolumeHandle> volumes;  // all that shall be members
  FlattenMode flatten = FlattenMode::kNever;
  CephUserRef user;
  /// Of the rbd group of a group that is adopted.
  std::string name_prefix = kDefaultGroupPrefix;
};

/// Makes the members of a group those that the request names.
///
// clang-format off
///   ResolveGroup()    "reading the group"         the members as the journal has them
///                                                 the same as wanted: OK
///   AdoptOnce()                                   it is in no journal: below
///   KeysToAdd()                                   of those that leave: again, with their keys
///   Take()                                        the lease, then ResolveGroup() once more
///   LookAtMembers()   "looking at the volumes"    those that come, leave or stay: each once
///   CheckMayJoin()                                each that comes
///   WhoIsThere()                                  of those that leave; a broken one may go
///   check()                                       whether replication allows the change
///   -- BeginMutation(): nothing is changed above this line --
///   ChangeMembers()                               first those that come, then those that leave
///
///   AdoptOnce():  GroupToAdopt()                  where it stands on this site
///                 Take()                          the lease, then ResolveGroup() once more
///                 LookAtMembers()                 all volumes that are named: each once
///                 CheckMayAdopt()                 each of them is here
///                 -- BeginMutation(): nothing is changed above this line --
///                 Adopt()                         adopt.h
// clang-format on
///
/// A list that is unchanged costs one read. Otherwise all volumes that come are
/// looked at before the first change, and they come before others leave. A
/// member that is deleted or cannot be resolved neither blocks the change nor
/// its own removal. When some volume could not be added, nobody was removed.
/// Idempotent, also after a crash at any step.
///
/// A group that no journal has, and whose volumes are named, is adopted: it may
/// have come from another site. All of the volumes are here, or none of it is
/// written.
///
/// NOT_FOUND: no such group and no volume is named, or one is not here.
/// INVALID_ARGUMENT: no volume id, or a new volume of another cluster or
/// namespace. FAILED_PRECONDITION: a new volume is in another group.
/// RESOURCE_EXHAUSTED: too many members. ABORTED: somebody else changed the
/// same things at the same moment.
absl::StatusOr<ResultOrKeys<GroupAnswer>> ModifyGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const ModifyGroupRequest& request, const KeySet& held);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_MODIFY_H_
