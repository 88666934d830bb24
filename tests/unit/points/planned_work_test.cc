#include "points/planned_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "replication/parameters.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Time At(const std::string& text) {
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, text, &time, &error)) << text;
  return time;
}

std::vector<ListedPoint> Points(const std::vector<std::string>& names) {
  std::vector<ListedPoint> points;
  for (const std::string& name : names) points.push_back({name, 0, false, 0});
  return points;
}

void SetRecord(std::vector<ListedPoint>* points, size_t index,
               absl::Time made) {
  (*points)[index].recorded = true;
  (*points)[index].made = absl::ToUnixSeconds(made);
}

const PointPlan kHourly = {{hours(1), 3}};
const PointPlan kHourlyAndDaily = {{hours(1), 2}, {hours(24), 2}};

TEST(PointPlanTest, ShortestFirst) {
  const auto plan = ParsePointPlan("1d*7, 1h*24,30m*4");
  ASSERT_OK(plan);
  EXPECT_THAT(*plan, ElementsAre(PointInterval{minutes(30), 4},
                                 PointInterval{hours(1), 24},
                                 PointInterval{hours(24), 7}));
  EXPECT_THAT(*ParsePointPlan(""), IsEmpty());
}

TEST(PointPlanTest, WhatIsNoneIsNamed) {
  for (const std::string text :
       {"1h", "1h*", "1h*0", "1h*-1", "1h*x", "*3", "1w*3", "1h*3,", "1h*1*1",
        "1h*2000", "hourly", "1h 3"}) {
    EXPECT_THAT(ParsePointPlan(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("how many stay")))
        << text;
  }
  EXPECT_THAT(ParsePointPlan("10m*3"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("shortest interval is 15m")));
  EXPECT_THAT(
      ParsePointPlan("1h*3,60m*4"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there twice")));
  EXPECT_THAT(
      ParsePointPlan("1h*300,1d*101"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("400 points")));
  EXPECT_THAT(
      ParsePointPlan("1h*1,2h*1,3h*1,4h*1,5h*1"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 intervals")));
}

TEST(PointPlanTest, ItIsAParameterOfSnapshotModeAlone) {
  const auto parsed = ReplicationParameters::Parse({{"points", "1h*24"}});
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->points, ElementsAre(PointInterval{hours(1), 24}));
  EXPECT_THAT(ReplicationParameters::Parse(
                  {{"points", "1h*24"}, {"mirroringMode", "journal"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs mirroringMode 'snapshot'")));
  EXPECT_THAT(ReplicationParameters::Parse({{"points", "often"}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PlannedWorkTest, NamesTellTheirPeriod) {
  const absl::Time time = At("2026-01-31T12:00:00Z");
  EXPECT_EQ(PlannedName(time), "auto-20260131T120000Z");
  EXPECT_EQ(PlannedPeriod("auto-20260131T120000Z"), time);
  for (const std::string other :
       {"", "auto-", "20260131T120000Z", "auto-20260131T120000", "auto-noon",
        "auto-20260231T120000Z", "auto-20260131T120000Z-1"}) {
    EXPECT_EQ(PlannedPeriod(other), std::nullopt) << other;
  }
}

TEST(PlannedWorkTest, TheFirstIsDueAtOnce) {
  const PlannedWork work =
      PlanWork(kHourly, Points({"mine"}), At("2026-01-31T12:34:56Z"));
  EXPECT_EQ(work.make, "auto-20260131T120000Z");
  EXPECT_THAT(work.remove, IsEmpty());
  EXPECT_EQ(work.read, "");
  EXPECT_EQ(work.next, At("2026-01-31T13:00:00Z"));
}

TEST(PlannedWorkTest, OneInEachPeriod) {
  const auto points = Points({"auto-20260131T120000Z"});
  EXPECT_EQ(PlanWork(kHourly, points, At("2026-01-31T12:59:59Z")).make, "");
  EXPECT_EQ(PlanWork(kHourly, points, At("2026-01-31T13:00:00Z")).make,
            "auto-20260131T130000Z");
}

TEST(PlannedWorkTest, SoManyStay) {
  const auto points =
      Points({"auto-20260131T080000Z", "mine", "auto-20260131T090000Z",
              "auto-20260131T100000Z", "auto-20260131T110000Z",
              "auto-20260131T120000Z"});
  const PlannedWork work =
      PlanWork(kHourly, points, At("2026-01-31T12:30:00Z"));
  EXPECT_THAT(work.remove,
              ElementsAre("auto-20260131T080000Z", "auto-20260131T090000Z"));
}

TEST(PlannedWorkTest, ThatOfTheRecordStays) {
  auto points = Points({"auto-20260131T080000Z", "auto-20260131T090000Z",
                        "auto-20260131T100000Z", "auto-20260131T110000Z",
                        "auto-20260131T120000Z"});
  SetRecord(&points, 0, At("2026-01-31T12:10:00Z"));
  EXPECT_THAT(PlanWork(kHourly, points, At("2026-01-31T12:30:00Z")).remove,
              ElementsAre("auto-20260131T090000Z"));
}

// Of an outage of days nothing is thinned.
TEST(PlannedWorkTest, PointsThatCouldNotBeMadeCostNoOlderOne) {
  const auto points = Points({"auto-20260131T080000Z", "auto-20260131T090000Z",
                              "auto-20260131T100000Z"});
  EXPECT_THAT(PlanWork(kHourly, points, At("2026-02-14T12:30:00Z")).remove,
              IsEmpty());
}

TEST(PlannedWorkTest, ALongerIntervalKeepsTheFirstOfItsPeriod) {
  const auto points =
      Points({"auto-20260128T230000Z", "auto-20260129T050000Z",
              "auto-20260129T060000Z", "auto-20260130T010000Z",
              "auto-20260130T020000Z", "auto-20260130T030000Z"});
  const PlannedWork work =
      PlanWork(kHourlyAndDaily, points, At("2026-01-30T03:30:00Z"));
  EXPECT_THAT(work.remove,
              ElementsAre("auto-20260128T230000Z", "auto-20260129T060000Z"));
}

TEST(PlannedWorkTest, OneInThePeriodOfTheLongestIntervalIsRead) {
  auto points = Points({"auto-20260130T230000Z", "auto-20260131T000000Z"});
  const absl::Time now = At("2026-01-31T00:30:00Z");
  EXPECT_EQ(PlanWork(kHourlyAndDaily, points, now).read,
            "auto-20260131T000000Z")
      << "nothing was read yet";
  SetRecord(&points, 0, At("2026-01-30T23:50:00Z"));
  EXPECT_EQ(PlanWork(kHourlyAndDaily, points, now).read,
            "auto-20260131T000000Z")
      << "that is of the day before";
  SetRecord(&points, 0, At("2026-01-31T00:10:00Z"));
  EXPECT_EQ(PlanWork(kHourlyAndDaily, points, now).read, "");
  EXPECT_EQ(PlanWork(kHourlyAndDaily, points, At("2026-01-31T23:59:00Z")).read,
            "");
}

}  // namespace
}  // namespace addons::testing
