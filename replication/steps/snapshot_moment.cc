#include "replication/steps/snapshot_moment.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

/// Moments of the manager: `first`, and every `step` before and after it.
struct Moments {
  minutes step{1};
  minutes first{0};
};

Moments MomentsOf(const SnapshotSchedule& schedule) {
  constexpr minutes kZones{15};
  Moments moments;
  // One that does not run as far as is known, or when nobody knows: any full
  // minute.
  if (schedule.Runs() && !schedule.spread) {
    moments.step = minutes(std::gcd(schedule.interval.count(), kZones.count()));
  }
  if (schedule.start.has_value()) {
    moments.first = std::chrono::floor<minutes>(schedule.start->of_day);
  }
  return moments;
}

/// How much later than `now` none of these moments is near any more; zero:
/// none is.
milliseconds LeaveNearest(milliseconds now, const Moments& moments) {
  const milliseconds step = moments.step;
  milliseconds since = (now - moments.first) % step;
  if (since < milliseconds(0)) since += step;
  if (since < kFromManagersSnapshot) return kFromManagersSnapshot - since;
  const milliseconds left = step - since;
  return left < kFromManagersSnapshot ? left + kFromManagersSnapshot
                                      : milliseconds(0);
}

}  // namespace

SteadyDuration UntilMirrorSnapshot(
    WallTime now, const std::vector<SnapshotSchedule>& schedules) {
  const auto begin = std::chrono::ceil<milliseconds>(now.time_since_epoch());
  milliseconds at = begin;
  // All moments are full minutes, so whatever their steps are, the middle of a
  // minute is near none of them.
  while (true) {
    milliseconds later{0};
    if (schedules.empty()) later = LeaveNearest(at, Moments());
    for (const SnapshotSchedule& schedule : schedules) {
      later = std::max(later, LeaveNearest(at, MomentsOf(schedule)));
    }
    if (later == milliseconds(0)) return at - begin;
    at += later;
  }
}

}  // namespace addons
