#include "replication/look/point.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace addons {
namespace {

constexpr size_t kLongestName = 64;

bool MayBeInName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

absl::Status CheckPointName(absl::string_view name) {
  if (!name.empty() && name.size() <= kLongestName &&
      std::all_of(name.begin(), name.end(), &MayBeInName)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("name: a point's name has 1 to ", kLongestName,
                   " letters, digits, '.', '_' and '-'"));
}

std::string SnapshotNameOf(const std::string& point) {
  return absl::StrCat(kPointPrefix, point);
}

std::vector<Point> PointsIn(const std::vector<ImageSnapshot>& snapshots) {
  std::vector<Point> points;
  for (const ImageSnapshot& snapshot : snapshots) {
    absl::string_view name = snapshot.name;
    if (snapshot.kind == SnapshotKind::kUser &&
        absl::ConsumePrefix(&name, kPointPrefix)) {
      points.push_back({std::string(name), snapshot.id});
    }
  }
  return points;
}

std::optional<Point> FindPoint(const std::vector<ImageSnapshot>& snapshots,
                               const std::string& name) {
  for (Point& point : PointsIn(snapshots)) {
    if (point.name == name) return std::move(point);
  }
  return std::nullopt;
}

}  // namespace addons
