#ifndef ADDONS_POINTS_PLANNED_WORK_H_
#define ADDONS_POINTS_PLANNED_WORK_H_

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
// a restart, another replica and the other site go on without a note.

/// "auto-20260131T120000Z": of the period that begins then.
std::string PlannedName(absl::Time period);
/// The period; nullopt: no plan has made a point of this name.
std::optional<absl::Time> PlannedPeriod(absl::string_view name);

struct PlannedWork {
  std::string make;                 // the point that is due; empty: none
  std::vector<std::string> remove;  // those that no interval keeps
  /// The point whose content is to be read for its record; empty: the record
  /// that there is is young enough. One in each period of the longest interval.
  std::string read;
  absl::Time next;  // when the next period begins
};

/// `plan` is not empty. Of each interval the first point of each of its newest
/// periods that have one stays, so that points which could not be made cost no
/// older one. So does the one that the record is of, which the other site may
/// be comparing, and those that a person has made.
PlannedWork PlanWork(const PointPlan& plan,
                     const std::vector<ListedPoint>& points, absl::Time now);

}  // namespace addons

#endif  // ADDONS_POINTS_PLANNED_WORK_H_
