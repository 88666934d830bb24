#include "replication/parameters.h"

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replication/schedule_store.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ReplicationParametersTest, DefaultsAreSnapshotModeAndNoFlatten) {
  const auto parameters = ReplicationParameters::Parse({});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->mode, MirrorMode::kSnapshot);
  EXPECT_EQ(parameters->flatten, FlattenMode::kNever);
  EXPECT_EQ(parameters->force, Force::kNo);
  EXPECT_FALSE(parameters->schedule.has_value());
}

TEST(ReplicationParametersTest, ReadsEveryKey) {
  const auto parameters =
      ReplicationParameters::Parse({{"mirroringMode", "snapshot"},
                                    {"flattenMode", "force"},
                                    {"schedulingInterval", "2h"},
                                    {"schedulingStartTime", "14:00:00-05:00"},
                                    {"force", "true"},
                                    {"clusterID", "for somebody else"}});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->flatten, FlattenMode::kForce);
  EXPECT_EQ(parameters->force, Force::kYes);
  ASSERT_TRUE(parameters->schedule.has_value());
  EXPECT_EQ(parameters->schedule->interval, std::chrono::minutes(120));
  EXPECT_EQ(parameters->schedule->interval_text, "2h");
  EXPECT_EQ(parameters->schedule->start->of_day, std::chrono::hours(19));
  EXPECT_EQ(parameters->schedule->start_time, "1970-01-01T19:00:00+00:00");
}

TEST(ReplicationParametersTest, JournalModeHasNoSchedule) {
  const auto parameters = ReplicationParameters::Parse(
      {{"mirroringMode", "journal"}, {"schedulingInterval", "5m"}});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->mode, MirrorMode::kJournal);
  EXPECT_FALSE(parameters->schedule.has_value());
}

TEST(ReplicationParametersTest, MisspeltKeysAreRefusedByName) {
  for (const std::string key :
       {"schedulinginterval", "SchedulingInterval", "schedulingIntervall",
        "schedulingIntrval", "schedulingIntervak", "mirroringmode",
        "flattenmode", "Force", "forc", "groupreplication",
        "schedulingStarttime"}) {
    EXPECT_THAT(ReplicationParameters::Parse({{key, "1m"}}),
                StatusIs(kInvalid, AllOf(HasSubstr("'" + key + "'"),
                                         HasSubstr("meant?"))))
        << key;
  }
}

TEST(ReplicationParametersTest, KeysOfOthersAreIgnored) {
  EXPECT_OK(ReplicationParameters::Parse({{"clusterID", "x"},
                                          {"pool", "y"},
                                          {"mode", "z"},
                                          {"schedule", "1m"},
                                          {"groupReplication", "members"}}));
}

TEST(ReplicationParametersTest, DisableReadsForceAlone) {
  const auto parameters =
      ReplicationParameters::ParseForDisable({{"force", "true"},
                                              {"schedulingInterval", "5x"},
                                              {"mirroringMode", "?"},
                                              {"flattenmode", "?"}});
  ASSERT_OK(parameters);
  EXPECT_EQ(parameters->force, Force::kYes);
  EXPECT_THAT(ReplicationParameters::ParseForDisable({{"force", "maybe"}}),
              StatusIs(kInvalid, HasSubstr("force")));
}

TEST(ReplicationParametersTest, StartTimeIsARealOne) {
  for (const std::string text :
       {"2026-13-45T03:00:00Z", "2026-02-30T03:00:00Z", "2026-00-10 03:00",
        "0000-01-01T00:00:00Z", "2026-13-45", "25:00:00", "03:60:00"}) {
    EXPECT_THAT(ParseStartTime(text), StatusIs(kInvalid, HasSubstr(text)));
  }
  EXPECT_OK(ParseStartTime("2028-02-29T03:00:00Z"));
  EXPECT_OK(ParseStartTime("03:00"));
}

struct BadValue {
  ParameterMap map;
  const char* key;
};

class BadParameterTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadParameterTest, IsRefusedByName) {
  EXPECT_THAT(ReplicationParameters::Parse(GetParam().map),
              StatusIs(kInvalid, HasSubstr(GetParam().key)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadParameterTest,
    ::testing::Values(
        BadValue{{{"mirroringMode", ""}}, "mirroringMode"},
        BadValue{{{"mirroringMode", "Snapshot"}}, "mirroringMode"},
        BadValue{{{"flattenMode", "always"}}, "flattenMode"},
        BadValue{{{"force", "yes please"}}, "force"},
        BadValue{{{"schedulingInterval", ""}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "5"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "m"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "0m"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "-5m"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "5 m"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", " 5m"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "5s"}}, "schedulingInterval"},
        BadValue{{{"schedulingInterval", "99999999999m"}},
                 "schedulingInterval"},
        BadValue{{{"schedulingStartTime", "03:00"}}, "schedulingStartTime"},
        BadValue{
            {{"schedulingInterval", "5m"}, {"schedulingStartTime", "teatime"}},
            "schedulingStartTime"},
        BadValue{
            {{"schedulingInterval", "5m"}, {"schedulingStartTime", "24:00:00"}},
            "schedulingStartTime"},
        BadValue{{{"mirroringMode", "journal"}, {"schedulingInterval", "5x"}},
                 "schedulingInterval"}));

TEST(ParseStartTimeTest, IsReckonedIntoUtc) {
  struct Row {
    const char* text;
    std::chrono::minutes of_day;
    std::optional<absl::CivilDay> day;
    bool in_utc;
  };
  const absl::CivilDay day(2026, 11, 20);
  for (const Row& row : std::vector<Row>{
           {"03:00:00+00:00", std::chrono::hours(3), std::nullopt, true},
           {"03:00-00:00", std::chrono::hours(3), std::nullopt, true},
           {"2026-11-20T03:00:00Z", std::chrono::hours(3), day, true},
           {"2026-11-20 03:00", std::chrono::hours(3), day, true},
           {"01:30+0200", std::chrono::minutes(23 * 60 + 30), std::nullopt,
            false},
           {"2026-11-20T01:30+02:00", std::chrono::minutes(23 * 60 + 30),
            day - 1, false},
           {"2026-11-19T22:00-05:00", std::chrono::hours(3), day, false}}) {
    const auto start = ParseStartTime(row.text);
    ASSERT_OK(start);
    EXPECT_EQ(start->of_day, row.of_day) << row.text;
    EXPECT_EQ(start->day, row.day) << row.text;
    EXPECT_EQ(start->in_utc, row.in_utc) << row.text;
  }
}

// As the manager's module does, which would be asked to change it each time.
TEST(ParseStartTimeTest, SecondsDoNotCount) {
  EXPECT_EQ(ParseStartTime("03:00:59Z")->of_day, std::chrono::hours(3));
  EXPECT_EQ(ParseStartTime("03:00:01.5+01:00")->of_day, std::chrono::hours(2));
}

// Up to Ceph 20 the manager drops dates and adds the offsets of zones, from 21
// on it takes nothing but dates with times.
TEST(SnapshotScheduleTest, IsToldInUtcWithADate) {
  for (const auto& [given, told] : std::map<std::string, std::string>{
           {"03:00", "1970-01-01T03:00:00+00:00"},
           {"14:00:00-05:00", "1970-01-01T19:00:00+00:00"},
           {"20:00:00-05:00", "1970-01-01T01:00:00+00:00"},
           {"03:00:00+09:00", "1970-01-01T18:00:00+00:00"},
           {"2026-11-20T03:00:00Z", "2026-11-20T03:00:00+00:00"},
           {"2026-11-20T03:00:00+09:00", "2026-11-19T18:00:00+00:00"}}) {
    const auto parameters = ReplicationParameters::Parse(
        {{"schedulingInterval", "1d"}, {"schedulingStartTime", given}});
    ASSERT_OK(parameters);
    EXPECT_EQ(parameters->schedule->start_time, told) << given;
  }
}

TEST(ParseIntervalTest, UnitsAreMinutesHoursDays) {
  EXPECT_EQ(*ParseInterval("60m"), std::chrono::hours(1));
  EXPECT_EQ(*ParseInterval("1h"), std::chrono::hours(1));
  EXPECT_EQ(*ParseInterval("2d"), std::chrono::hours(48));
}

TEST(SnapshotScheduleTest, EqualWhenTheManagerWouldTreatThemAlike) {
  const auto wanted = ReplicationParameters::Parse(
      {{"schedulingInterval", "60m"},
       {"schedulingStartTime", "2026-11-20T03:00:00Z"}});
  ASSERT_OK(wanted);
  const auto listed = [](const std::string& interval,
                         const std::string& start) {
    auto schedule = ParseSchedule(
        nlohmann::json({{"interval", interval}, {"start_time", start}}));
    EXPECT_OK(schedule);
    return *std::move(schedule);
  };
  EXPECT_EQ(*wanted->schedule, listed("1h", "03:00:00+00:00"));
  EXPECT_EQ(*wanted->schedule, listed("1h", "2026-11-20T03:00:00+00:00"));
  EXPECT_FALSE(*wanted->schedule == listed("1h", "2026-11-21T03:00:00+00:00"));
  EXPECT_FALSE(*wanted->schedule == listed("1h", "04:00:00+00:00"));
  EXPECT_FALSE(*wanted->schedule == listed("2h", "03:00:00+00:00"));
  // The same moment of the calendar, and none of the manager's.
  EXPECT_FALSE(*wanted->schedule == listed("1h", "12:00:00+09:00"));
  EXPECT_EQ(listed("1h", "12:00:00+09:00"), listed("1h", "12:00:00+09:00"));
}

}  // namespace
}  // namespace addons
