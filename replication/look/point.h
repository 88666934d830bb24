#ifndef ADDONS_REPLICATION_LOOK_POINT_H_
#define ADDONS_REPLICATION_LOOK_POINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ceph/image.h"

namespace addons {

// A point (docs/points.md) is a user's snapshot with a name of ours, which
// mirroring brings to the other site like any other one.

inline constexpr char kPointPrefix[] = "rbd-addons.point.";
/// The metadata that tells what the newest one held: too large for a view.
inline constexpr char kPointRecordKey[] = "rbd-addons-point";

inline constexpr size_t kMostPoints = 500;  // of an image

// Why an image cannot go back to one, for messages.
inline constexpr char kNoPointsInJournalMode[] =
    "it is replicated in journal mode, in which it has no points";
inline constexpr char kCloneIsNotBroughtBack[] =
    "it is a clone, and what it has from its parent is not brought back";

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

#endif  // ADDONS_REPLICATION_LOOK_POINT_H_
