#ifndef ADDONS_VOLUMEGROUP_CREATE_H_
#define ADDONS_VOLUMEGROUP_CREATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "volumegroup/environment.h"
#include "volumegroup/parameters.h"

namespace addons {

struct CreateGroupRequest {
  std::string name;
  GroupParameters parameters;
  GroupParameterMap parameter_map;  // all of them, as given
  std::vector<std::string> volume_ids;
  CephUser user;
};

/// The key of the operation table for a group that has a name only.
std::string GroupNameKey(const GroupParameters& parameters,
                         const std::string& name);

/// Creates a volume group as ceph-csi does, or adopts the one of this name.
///
///   look: name -> uuid -> journal; volumes         nothing is changed up to
///   here directory: name -> uuid object csi.volume.group.<uuid>: names, time
///   } undone when rbd group                                        } one of
///   these fails volumes: rbd group, then journal
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
absl::StatusOr<GroupOutcome> CreateGroup(
    OperationContext& context, const VolumeGroupEnvironment& environment,
    const CreateGroupRequest& request, const HeldKeys& held);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_CREATE_H_
