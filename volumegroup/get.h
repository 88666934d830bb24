#ifndef ADDONS_VOLUMEGROUP_GET_H_
#define ADDONS_VOLUMEGROUP_GET_H_

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "volumegroup/environment.h"

namespace addons {

/// A group and what can be seen of its members. Broken members are listed, too:
/// their context has "problem" and the group's context "brokenMembers" names
/// them. Takes no key and changes nothing. Errors of Resolver::ResolveGroup().
absl::StatusOr<GroupAnswer> GetGroup(const VolumeGroupEnvironment& environment,
                                     const GroupHandle& group_id,
                                     const CephUserRef& user,
                                     SteadyTime deadline);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_GET_H_
