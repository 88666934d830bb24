#ifndef ADDONS_REPLICATION_STEPS_SNAPSHOT_MOMENT_H_
#define ADDONS_REPLICATION_STEPS_SNAPSHOT_MOMENT_H_

#include <chrono>
#include <vector>

#include "base/clock.h"
#include "replication/parameters.h"

namespace addons {

/// So far from a moment at which the manager makes a mirror snapshot are those
/// of this daemon. It bridges a difference of the two hosts' clocks of 15 s,
/// and the time that the manager needs for 150 images of one interval.
inline constexpr std::chrono::seconds kFromManagersSnapshot{20};

/// How long from `now` until this daemon may make a mirror snapshot of an image
/// that has these schedules, whole or zero: at once. At most 40 s.
///
/// Two clients that make one of the same image at the same moment die inside
/// librbd (16.2.15, 18.2.7, 20.2.4), and Ceph's manager is such a client. It
/// runs a schedule at the multiples of its interval, counted from 1970-01-01 in
/// its local time, and from the start time. The offset of every time zone is a
/// multiple of a quarter of an hour, so what is avoided is each moment that is
/// one of the manager's in any zone.
///
/// `schedules` are all that apply; none: they are not known, and each full
/// minute may be such a moment. Pure; thread-safe.
SteadyDuration UntilMirrorSnapshot(
    WallTime now, const std::vector<SnapshotSchedule>& schedules);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_SNAPSHOT_MOMENT_H_
