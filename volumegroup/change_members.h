#ifndef ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_
#define ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_

#include <vector>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"
#include "volumegroup/members.h"

namespace addons {

/// Changes the members of a group: rbd group, replication and journal, in the
/// order of MemberReplication, additions before removals. The group's journal
/// object exists; `change` was validated and BeginMutation() called. `added`
/// and `removed` are the views of all volumes concerned, the broken ones among
/// `removed` too.
///
/// When some volume cannot be added the others are, nobody is removed, and the
/// answer names it; the same call finishes it. Idempotent.
absl::Status ChangeMembers(OperationContext& context,
                           const VolumeGroupEnvironment& environment,
                           const MembershipChange& change,
                           const std::vector<MemberView>& added,
                           const std::vector<MemberView>& removed);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_CHANGE_MEMBERS_H_
