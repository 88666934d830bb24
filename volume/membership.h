#ifndef ADDONS_VOLUME_MEMBERSHIP_H_
#define ADDONS_VOLUME_MEMBERSHIP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ceph/cluster.h"
#include "volume/csi_handle.h"

namespace addons {

/// The parameter flattenMode: whether a clone that is to be mirrored is
/// detached from its parent first.
enum class FlattenMode { kNever, kForce };

/// "never" and "force"; nullopt: neither.
std::optional<FlattenMode> ToFlattenMode(absl::string_view text);

/// A change of the members of a volume group, between those who keep groups and
/// those who mirror their members.
struct MembershipChange {
  GroupHandle group_id;
  CephUserRef user;
  std::vector<VolumeHandle> kept;
  std::vector<VolumeHandle> added;
  std::vector<VolumeHandle> removed;          // those that are not broken
  FlattenMode flatten = FlattenMode::kNever;  // for volumes that are added
};

}  // namespace addons

#endif  // ADDONS_VOLUME_MEMBERSHIP_H_
