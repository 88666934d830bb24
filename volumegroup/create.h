#ifndef ADDONS_VOLUMEGROUP_CREATE_H_
#define ADDONS_VOLUMEGROUP_CREATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/growing_keys.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"
#include "volumegroup/parameters.h"

namespace addons {

struct CreateGroupRequest {
  std::string name;
  GroupParameters parameters;
  GroupParameterMap parameter_map;  // all of them, as given
  std::vector<VolumeHandle> volumes;
  CephUserRef user;
};

/// The key of the operation table for a group that has a name only.
std::string GroupNameKey(const GroupParameters& parameters,
                         const std::string& name);

/// Creates a volume group as ceph-csi does, or adopts the one of this name.
///
// clang-format off
///   FindGroup()       "looking"                   name, then uuid, then journal
///   Take()                                        the lease, then FindGroup() once more
///   LookAtMembers()                               volumes that are not members yet: each once
///   CheckMayJoin()                                each of them
///   check()                                       whether they can be mirrored
///   -- BeginMutation(): nothing is changed above this line --
///   MakeGroup()       Reserve()       "reserving the name"      directory: name to uuid
///                     Create()                                  journal object: names, time
///                     MakeRbdGroup()  "creating the rbd group"
///                     Undo()          of a new group, in reverse, when one of these fails
///   ChangeMembers()                               each volume: rbd group, then journal
// clang-format on
///
/// Each step finds what it made when it is repeated. A name without object, and
/// an object without names, are what an interrupted call (also of ceph-csi)
/// leaves; they are taken over. Volumes that are members already stay, also
/// when they are not named.
///
/// INVALID_ARGUMENT: the parameters, or no volume id. NOT_FOUND: no such
/// volume. FAILED_PRECONDITION: a volume is in another group, cluster or
/// namespace. ALREADY_EXISTS: the name belongs to a group of other parameters,
/// or to a volume group snapshot. RESOURCE_EXHAUSTED: too many members.
/// ABORTED: another replica did the same at the same moment.
absl::StatusOr<ResultOrKeys<GroupAnswer>> CreateGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const CreateGroupRequest& request, const KeySet& held);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_CREATE_H_
