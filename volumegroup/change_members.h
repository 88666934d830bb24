#ifndef ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_
#define ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_

#include <vector>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"
#include "volumegroup/members.h"

namespace addons {

/// Changes the members of `group`: rbd group, replication and journal,
/// additions before removals. The group's journal object exists; `change` was
/// validated and BeginMutation() called. `added` and `removed` are the views of
/// all volumes concerned, the broken ones among `removed` too; `seen` is for
/// replication.
///
// clang-format off
///   Add()     "adding volumes"                 MakeRbdGroup(), Attach(): rbd group
///             "replicating the new volumes"    join()
///                                              AddMembers(): journal
///   Remove()  "ending the replication of volumes that leave"
///                                              leave()
///             "removing volumes"               Detach(): rbd group
///                                              RemoveMembers(): journal
// clang-format on
///
/// When some volume cannot be added the others are, nobody is removed, and the
/// answer names it; the same call finishes it. Idempotent.
absl::Status ChangeMembers(OperationContext& context,
                           const VolumeGroupEnvironment& environment,
                           const ResolvedGroup& group,
                           const MembershipChange& change,
                           const SeenMirroring& seen,
                           const std::vector<MemberView>& added,
                           const std::vector<MemberView>& removed);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_
