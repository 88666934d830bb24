#ifndef ADDONS_VOLUMEGROUP_PARAMETERS_H_
#define ADDONS_VOLUMEGROUP_PARAMETERS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "base/cluster_id.h"
#include "volume/membership.h"

namespace addons {

/// How the names of rbd groups begin, unless volumeGroupNamePrefix says it.
inline constexpr char kDefaultGroupPrefix[] = "csi-vol-group-";

using GroupParameterMap = std::map<std::string, std::string>;

/// What the parameters of CreateVolumeGroup say about a new group.
struct GroupParameters {
  ClusterId cluster_id;
  std::string pool;
  std::string name_prefix;  // of the rbd group
  /// volumeNamePrefix, with which drivers of 2024 named groups; empty: not
  /// given.
  std::string old_name_prefix;
  /// Matters only where the group is replicated.
  FlattenMode flatten = FlattenMode::kNever;

  /// Reads clusterID, pool, journalPool, volumeGroupNamePrefix,
  /// volumeNamePrefix and flattenMode; other keys are for others and ignored.
  /// INVALID_ARGUMENT names the key, its value and what is allowed.
  static absl::StatusOr<GroupParameters> Parse(const GroupParameterMap& map);

  /// Whether a group of this rbd name may have been made with these parameters.
  bool Fits(const std::string& group_name, const std::string& uuid) const;
};

/// INVALID_ARGUMENT: a key that GroupParameters::Parse() reads is misspelt.
absl::Status CheckGroupParameterKeys(const GroupParameterMap& map);

/// What those of ModifyVolumeGroupMembership say: flattenMode, and for a group
/// that is adopted the beginning of its rbd group's name.
/// INVALID_ARGUMENT as for GroupParameters::Parse().
absl::StatusOr<FlattenMode> ParseFlattenMode(const GroupParameterMap& map);
absl::StatusOr<std::string> ParseNamePrefix(const GroupParameterMap& map);

}  // namespace addons

#endif  // ADDONS_VOLUMEGROUP_PARAMETERS_H_
