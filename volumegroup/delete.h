#ifndef ADDONS_VOLUMEGROUP_DELETE_H_
#define ADDONS_VOLUMEGROUP_DELETE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"

namespace addons {

struct DeleteGroupRequest {
  GroupHandle group_id;
  CephUserRef user;
};

/// Deletes a volume group that has no members but broken ones. Volumes stay.
///
// clang-format off
///   ResolveGroup()  "reading the group"             there is none: OK, after
///     RemoveHalfAdopted()                           HalfAdopted() has what is left
///   CheckEmpty()                                    members: FAILED_PRECONDITION
///   -- BeginMutation(): nothing is changed above this line --
///   Remove()        "removing the rbd group"        RemoveGroup()
///                   "removing the journal entry"    Release(): the name in the directory
///                                                   Remove(): object csi.volume.group.<uuid>
// clang-format on
///
/// The object goes last, so that a call that was interrupted is finished by the
/// same call.
///
/// OK: it is gone, also when there was none (or no such pool).
/// FAILED_PRECONDITION: it has members. UNAVAILABLE: a member could not be
/// looked at.
absl::Status DeleteGroup(OperationContext& context,
                         const VolumeGroupEnvironment& environment,
                         const DeleteGroupRequest& request);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_DELETE_H_
