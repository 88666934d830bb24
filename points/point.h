#ifndef ADDONS_POINTS_POINT_H_
#define ADDONS_POINTS_POINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"
#include "replication/look/mirror_view.h"

namespace addons {

// A point is a user's snapshot with a name of ours, which mirroring brings to
// the other site like any other one.

inline constexpr size_t kMostPoints = 500;  // of an image

struct Point {
  std::string name;  // without the prefix
  uint64_t snapshot = 0;
};

/// INVALID_ARGUMENT: 1 to 64 letters, digits, '.', '_' and '-' are a name.
absl::Status CheckPointName(absl::string_view name);
std::string SnapshotNameOf(const std::string& point);

/// Those among an image's snapshots, in their order.
std::vector<Point> PointsIn(const std::vector<ImageSnapshot>& snapshots);
/// nullopt: there is none of this name.
std::optional<Point> FindPoint(const std::vector<ImageSnapshot>& snapshots,
                               const std::string& name);

}  // namespace addons

#endif  // ADDONS_POINTS_POINT_H_
