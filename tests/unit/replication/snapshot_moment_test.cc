// When this daemon makes mirror snapshots, beside a manager that makes its own.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "replication/steps/ceph_faults/mirror_snapshot.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// So long after 2026-11-20T00:00:00Z.
WallTime At(SteadyDuration since_midnight) {
  return WallTime(std::chrono::sys_days(std::chrono::year_month_day(
             std::chrono::year(2026), std::chrono::month(11),
             std::chrono::day(20)))) +
         std::chrono::duration_cast<WallTime::duration>(since_midnight);
}

std::vector<SnapshotSchedule> Every(const std::string& interval,
                                    const std::string& start = "") {
  SnapshotSchedule schedule;
  schedule.interval_text = interval;
  schedule.interval = *ParseInterval(interval);
  if (!start.empty()) schedule.start = *ParseStartTime(start);
  return {schedule};
}

TEST(SnapshotMomentTest, TwentySecondsFromEachOfTheManagersMoments) {
  const auto schedules = Every("1m");
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(0)), schedules), seconds(20));
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(19)), schedules), seconds(1));
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(20)), schedules), seconds(0));
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(40)), schedules), seconds(0));
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(41)), schedules), seconds(39));
  EXPECT_EQ(UntilMirrorSnapshot(At(milliseconds(40001)), schedules),
            milliseconds(39999));
  EXPECT_EQ(UntilMirrorSnapshot(At(seconds(59)), schedules), seconds(21));
}

TEST(SnapshotMomentTest, BetweenTwoMomentsNothingIsWaitedFor) {
  const auto schedules = Every("5m");
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(1)), schedules), seconds(0));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(4) + seconds(39)), schedules),
            seconds(0));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(4) + seconds(50)), schedules),
            seconds(30));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(5) + seconds(5)), schedules),
            seconds(15));
}

// 5 h 30 and 5 h 45 are offsets of zones, and so is every full hour.
TEST(SnapshotMomentTest, TheManagersTimeZoneNeedNotBeKnown) {
  for (const char* const interval : {"1h", "6h", "1d", "30m"}) {
    for (const minutes moment :
         {minutes(0), minutes(15), minutes(30), minutes(45), minutes(600)}) {
      EXPECT_EQ(UntilMirrorSnapshot(At(moment), Every(interval)), seconds(20))
          << interval << " " << moment.count();
    }
    EXPECT_EQ(UntilMirrorSnapshot(At(minutes(7)), Every(interval)), seconds(0));
  }
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(10)), Every("20m")), seconds(20));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(8)), Every("7m")), seconds(20));
}

// The manager adds the zone's offset of a start time, instead of subtracting
// it: either is avoided.
TEST(SnapshotMomentTest, AStartTimeMovesTheMoments) {
  for (const char* const start :
       {"00:07", "14:07:00-05:00", "14:22:00+05:45"}) {
    const auto schedules = Every("1h", start);
    EXPECT_EQ(UntilMirrorSnapshot(At(hours(3) + minutes(7)), schedules),
              seconds(20))
        << start;
    EXPECT_EQ(UntilMirrorSnapshot(At(hours(3) + minutes(22)), schedules),
              seconds(20))
        << start;
    EXPECT_EQ(UntilMirrorSnapshot(At(hours(3)), schedules), seconds(0))
        << start;
  }
}

TEST(SnapshotMomentTest, AllSchedulesCount) {
  auto schedules = Every("5m", "00:02");
  const auto more = Every("5m", "00:03");
  schedules.insert(schedules.end(), more.begin(), more.end());
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(1) + seconds(45)), schedules),
            seconds(35));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(2) + seconds(50)), schedules),
            seconds(30));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(5)), schedules), seconds(0));
}

TEST(SnapshotMomentTest, UnknownSchedulesMayBeOfAnyMinute) {
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(7)), {}), seconds(20));
  EXPECT_EQ(UntilMirrorSnapshot(At(minutes(7) + seconds(30)), {}), seconds(0));
}

TEST(SnapshotMomentTest, NeverMoreThanFortySeconds) {
  for (int second = 0; second < 3600; ++second) {
    for (const char* const interval : {"1m", "2m", "7m", "15m", "1h"}) {
      const auto schedules = Every(interval, "00:03");
      const SteadyDuration wait =
          UntilMirrorSnapshot(At(seconds(second)), schedules);
      ASSERT_LE(wait, seconds(40)) << second;
      ASSERT_EQ(UntilMirrorSnapshot(At(seconds(second) + wait), schedules),
                seconds(0));
    }
  }
}

}  // namespace
}  // namespace addons::testing
