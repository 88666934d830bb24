#include "points/planned_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/parameters.h"
#include "tests/fakes/fake_world.h"
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

std::vector<std::string> Volumes(PointPlans& plans) {
  std::vector<std::string> volumes;
  for (const auto& planned : plans.All()) {
    volumes.push_back(planned.volume_id.text());
  }
  return volumes;
}

class PointPlansTest : public ::testing::Test {
 protected:
  FakeWorld world_;
  PointPlans plans_{world_};
};

TEST_F(PointPlansTest, WhoLeavesAGroupHasNoPlanOfIt) {
  PointPlans& plans = plans_;
  const VolumeHandle a("a"), b("b"), c("c");
  EXPECT_TRUE(plans.Note(c, nullptr, kHourly));
  EXPECT_TRUE(plans.NoteGroup("group", {a, b}, nullptr, kHourly));
  EXPECT_THAT(Volumes(plans), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(plans.NoteGroup("group", {b}, nullptr, kHourly));
  EXPECT_THAT(Volumes(plans), ElementsAre("b", "c"));
  EXPECT_TRUE(plans.NoteGroup("group", {b}, nullptr, {}));
  EXPECT_THAT(Volumes(plans), ElementsAre("c"));
  EXPECT_TRUE(plans.Note(c, nullptr, {}));
  EXPECT_THAT(Volumes(plans), IsEmpty());
}

// An operator repeats its calls, to whichever replica leads.
TEST_F(PointPlansTest, WhatAnOperatorRenewedNoMoreIsAnotherReplicas) {
  const VolumeHandle by_operator("a"), by_person("b");
  EXPECT_TRUE(plans_.Note(by_person, nullptr, kHourly));
  for (int call = 0; call <= PointPlans::kOfAnOperator; ++call) {
    EXPECT_TRUE(plans_.Note(by_operator, nullptr, kHourly));
    world_.Advance(hours(1));
  }
  world_.Advance(hours(24));
  EXPECT_THAT(Volumes(plans_), ElementsAre("a", "b"));
  world_.Advance(hours(1));
  EXPECT_THAT(Volumes(plans_), ElementsAre("b"));
  plans_.Drop(by_person);
  EXPECT_THAT(Volumes(plans_), IsEmpty());
}

TEST_F(PointPlansTest, SoManyVolumesHaveOneAtMost) {
  PointPlans& plans = plans_;
  for (size_t i = 0; i < PointPlans::kMost; ++i) {
    ASSERT_TRUE(plans.Note(VolumeHandle(absl::StrCat(i)), nullptr, kHourly));
  }
  EXPECT_FALSE(plans.Note(VolumeHandle("one more"), nullptr, kHourly));
  EXPECT_TRUE(plans.Note(VolumeHandle("another"), nullptr, kHourly))
      << "told once";
  EXPECT_TRUE(plans.Note(VolumeHandle("7"), nullptr, kHourlyAndDaily));
  EXPECT_EQ(plans.All().size(), PointPlans::kMost);
}

constexpr char kSite[] = "5f03a1";

PlannedWork Work(const PointPlan& plan, const std::vector<ListedPoint>& points,
                 absl::Time now) {
  return PlanWork(plan, points, kSite, now);
}

TEST(PlannedWorkTest, NamesTellWhenAndWhere) {
  const absl::Time time = At("2026-01-31T12:00:07Z");
  EXPECT_EQ(PlannedName({time, kSite}), "auto-20260131T120007Z-5f03a1");
  EXPECT_EQ(ParsePlannedName("auto-20260131T120007Z-5f03a1"),
            (PlannedMoment{time, kSite}));
  for (const std::string other :
       {"", "auto-", "20260131T120000Z-5f03a1", "auto-20260131T120000Z",
        "auto-20260131T120000-5f03a1", "auto-noon",
        "auto-20260231T120000Z-5f03a1", "auto-20260131T120000Z-5f03a",
        "auto-20260131T120000Z-5f03A1", "auto-20260131T120000Z-5f03a1x"}) {
    EXPECT_EQ(ParsePlannedName(other), std::nullopt) << other;
  }
  EXPECT_EQ(SiteMark("5F03A1bc-0000"), kSite);
  EXPECT_EQ(SiteMark("a/"), "a00000");
}

TEST(PlannedWorkTest, TheFirstIsDueAtOnce) {
  const PlannedWork work =
      Work(kHourly, Points({"mine"}), At("2026-01-31T12:34:56Z"));
  EXPECT_EQ(work.make, "auto-20260131T123456Z-5f03a1");
  EXPECT_THAT(work.remove, IsEmpty());
  EXPECT_EQ(work.read, "");
  EXPECT_EQ(work.next, At("2026-01-31T13:00:00Z"));
}

TEST(PlannedWorkTest, OneInEachPeriod) {
  const auto points = Points({"auto-20260131T121530Z-5f03a1"});
  EXPECT_EQ(Work(kHourly, points, At("2026-01-31T12:59:59Z")).make, "");
  EXPECT_EQ(Work(kHourly, points, At("2026-01-31T13:00:00Z")).make,
            "auto-20260131T130000Z-5f03a1");
}

// The site that was primary before has made them.
TEST(PlannedWorkTest, ThoseOfAnotherSiteGo) {
  const auto points = Points(
      {"auto-20260131T120000Z-0a0a0a", "mine", "auto-20260131T123000Z-0a0a0a"});
  const PlannedWork work = Work(kHourly, points, At("2026-01-31T12:40:00Z"));
  EXPECT_EQ(work.make, "auto-20260131T124000Z-5f03a1");
  EXPECT_THAT(work.remove, ElementsAre("auto-20260131T120000Z-0a0a0a",
                                       "auto-20260131T123000Z-0a0a0a"));
  EXPECT_EQ(work.read, "");
}

// They would take the places of those that are made now.
TEST(PlannedWorkTest, ThoseOfAClockThatWasAheadGo) {
  auto points =
      Points({"auto-20260131T120000Z-5f03a1", "auto-20270131T120000Z-5f03a1",
              "auto-20270131T130000Z-5f03a1"});
  const absl::Time now = At("2026-01-31T12:40:00Z");
  const PlannedWork work = Work(kHourly, points, now);
  EXPECT_EQ(work.make, "");
  EXPECT_THAT(work.remove, ElementsAre("auto-20270131T120000Z-5f03a1",
                                       "auto-20270131T130000Z-5f03a1"));
  EXPECT_EQ(work.read, "auto-20260131T120000Z-5f03a1");
  SetRecord(&points, 2, now - absl::Hours(30));
  EXPECT_THAT(Work(kHourly, points, now).remove,
              ElementsAre("auto-20270131T120000Z-5f03a1"))
      << "the other site may be comparing the other one";
}

TEST(PlannedWorkTest, SoManyStay) {
  const auto points =
      Points({"auto-20260131T080000Z-5f03a1", "mine",
              "auto-20260131T090000Z-5f03a1", "auto-20260131T100000Z-5f03a1",
              "auto-20260131T110000Z-5f03a1", "auto-20260131T120000Z-5f03a1"});
  const PlannedWork work = Work(kHourly, points, At("2026-01-31T12:30:00Z"));
  EXPECT_THAT(work.remove, ElementsAre("auto-20260131T080000Z-5f03a1",
                                       "auto-20260131T090000Z-5f03a1"));
}

TEST(PlannedWorkTest, ThatOfTheRecordStays) {
  auto points =
      Points({"auto-20260131T080000Z-5f03a1", "auto-20260131T090000Z-5f03a1",
              "auto-20260131T100000Z-5f03a1", "auto-20260131T110000Z-5f03a1",
              "auto-20260131T120000Z-5f03a1"});
  SetRecord(&points, 0, At("2026-01-31T12:10:00Z"));
  EXPECT_THAT(Work(kHourly, points, At("2026-01-31T12:30:00Z")).remove,
              ElementsAre("auto-20260131T090000Z-5f03a1"));
}

// Of an outage of days nothing is thinned.
TEST(PlannedWorkTest, PointsThatCouldNotBeMadeCostNoOlderOne) {
  const auto points =
      Points({"auto-20260131T080000Z-5f03a1", "auto-20260131T090000Z-5f03a1",
              "auto-20260131T100000Z-5f03a1"});
  EXPECT_THAT(Work(kHourly, points, At("2026-02-14T12:30:00Z")).remove,
              IsEmpty());
}

TEST(PlannedWorkTest, ALongerIntervalKeepsTheFirstOfItsPeriod) {
  const auto points =
      Points({"auto-20260128T230000Z-5f03a1", "auto-20260129T050000Z-5f03a1",
              "auto-20260129T060000Z-5f03a1", "auto-20260130T010000Z-5f03a1",
              "auto-20260130T020000Z-5f03a1", "auto-20260130T030000Z-5f03a1"});
  const PlannedWork work =
      Work(kHourlyAndDaily, points, At("2026-01-30T03:30:00Z"));
  EXPECT_THAT(work.remove, ElementsAre("auto-20260128T230000Z-5f03a1",
                                       "auto-20260129T060000Z-5f03a1"));
}

TEST(PlannedWorkTest, OneInThePeriodOfTheLongestIntervalIsRead) {
  auto points =
      Points({"auto-20260130T230000Z-5f03a1", "auto-20260131T000000Z-5f03a1"});
  const absl::Time now = At("2026-01-31T00:30:00Z");
  EXPECT_EQ(Work(kHourlyAndDaily, points, now).read,
            "auto-20260131T000000Z-5f03a1")
      << "nothing was read yet";
  SetRecord(&points, 0, At("2026-01-30T23:50:00Z"));
  EXPECT_EQ(Work(kHourlyAndDaily, points, now).read,
            "auto-20260131T000000Z-5f03a1")
      << "that is of the day before";
  SetRecord(&points, 0, At("2026-01-31T00:10:00Z"));
  EXPECT_EQ(Work(kHourlyAndDaily, points, now).read, "");
  EXPECT_EQ(Work(kHourlyAndDaily, points, At("2026-01-31T23:59:00Z")).read, "");
  // All of the image is read: not each hour.
  EXPECT_EQ(Work(kHourly, points, At("2026-01-31T23:59:00Z")).read, "");
  EXPECT_EQ(Work(kHourly, points, At("2026-02-01T00:00:00Z")).read,
            "auto-20260131T000000Z-5f03a1");
}

}  // namespace
}  // namespace addons::testing
