#ifndef ADDONS_POINTS_PLANNED_WORK_H_
#define ADDONS_POINTS_PLANNED_WORK_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "points/prove.h"
#include "replication/point_plan.h"

namespace addons {

// What a plan (the parameter `points` of a class) wants of the points of a
// primary. All of it is told by the names of the points that there are, so that
// a restart and another replica go on without a note.

/// When a plan had a point made, and on which site.
struct PlannedMoment {
  absl::Time time;
  std::string site;  // SiteMark()

  friend bool operator==(const PlannedMoment&, const PlannedMoment&) = default;
};

/// What names tell of the pool in which a point was made, by its mirror uuid.
std::string SiteMark(absl::string_view mirror_uuid);
/// "auto-20260131T120107Z-5f03a1". No name is given twice: a snapshot that is
/// made again with the name of a removed one may stop its copies
/// (findings/snapshot-name-used-again-stops-the-copy.sh).
std::string PlannedName(const PlannedMoment& moment);
/// nullopt: no plan has made a point of this name.
std::optional<PlannedMoment> ParsePlannedName(absl::string_view name);

struct PlannedWork {
  std::string make;                 // the point that is due; empty: none
  std::vector<std::string> remove;  // the oldest first
  /// The point whose content is to be read for its record; empty: the record
  /// that there is is young enough.
  std::string read;
  absl::Time next;  // when the next period begins
};

/// A record is due once in each period of the longest interval, and not more
/// often than this: all of the image is read for it.
inline constexpr std::chrono::hours kShortestRecordInterval{24};

/// `plan` is not empty, and `site` that of this pool. A point is due in each
/// period of the shortest interval. Of each interval the first point of each of
/// its newest periods that have one stays, so that points which could not be
/// made cost no older one. So does the one that the record is of, which the
/// other site may be comparing, and those that a person has made. Those that a
/// plan has made on another site, which was primary then, go; and those of a
/// clock that was ahead.
PlannedWork PlanWork(const PointPlan& plan,
                     const std::vector<ListedPoint>& points,
                     const std::string& site, absl::Time now);

}  // namespace addons

#endif  // ADDONS_POINTS_PLANNED_WORK_H_
