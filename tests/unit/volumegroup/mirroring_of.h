#ifndef ADDONS_TESTS_UNIT_VOLUMEGROUP_MIRRORING_OF_H_
#define ADDONS_TESTS_UNIT_VOLUMEGROUP_MIRRORING_OF_H_

#include "replication/environment.h"
#include "replication/membership.h"
#include "volumegroup/environment.h"

namespace addons::testing {

/// What the server passes on to replication when the members of a group change.
/// `environment` is not owned.
inline MemberReplication MirroringOf(ReplicationEnvironment& environment) {
  const auto step = [&environment](auto* change_mirroring) {
    return [&environment, change_mirroring](OperationContext& context,
                                            const MembershipChange& change,
                                            const SeenMirroring& seen) {
      return change_mirroring(context, environment, change, seen);
    };
  };
  return {step(&CheckGroupChange), step(&EnableAdded), step(&DisableRemoved)};
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_VOLUMEGROUP_MIRRORING_OF_H_
