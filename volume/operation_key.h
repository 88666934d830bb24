#ifndef ADDONS_VOLUME_OPERATION_KEY_H_
#define ADDONS_VOLUME_OPERATION_KEY_H_

#include <compare>
#include <cstdint>
#include <string>

#include "base/cluster_id.h"

namespace addons {

/// Which volume or volume group an operation is about: equal for all ids of one
/// volume on this site, different for different volumes. Known without asking a
/// cluster.
struct OperationKey {
  ClusterId cluster_id;  // after mapping
  int64_t pool_id = 0;
  std::string rados_namespace;
  std::string uuid;

  /// The key in the operation table: "6:site-a/2/tenant/1603eb04-...". The
  /// length before the cluster id makes it unambiguous, for that may contain
  /// anything. Nobody reads it back.
  std::string ToString() const;

  friend bool operator==(const OperationKey&, const OperationKey&) = default;
  friend auto operator<=>(const OperationKey&, const OperationKey&) = default;
};

}  // namespace addons

#endif  // ADDONS_VOLUME_OPERATION_KEY_H_
