#include "replication/parameters.h"

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
  EXPECT_EQ(parameters->schedule->start_of_day, std::chrono::hours(19));
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

TEST(ParseStartTimeTest, KeepsOnlyTheTimeOfDayInUtc) {
  EXPECT_EQ(*ParseStartTime("03:00:00+00:00"), std::chrono::hours(3));
  EXPECT_EQ(*ParseStartTime("2026-11-20T03:00:00Z"), std::chrono::hours(3));
  EXPECT_EQ(*ParseStartTime("2026-11-20 03:00"), std::chrono::hours(3));
  EXPECT_EQ(*ParseStartTime("01:30+0200"), std::chrono::minutes(23 * 60 + 30));
}

// As the manager's module does, which would be asked to change it each time.
TEST(ParseStartTimeTest, SecondsDoNotCount) {
  EXPECT_EQ(*ParseStartTime("03:00:59Z"), std::chrono::hours(3));
  EXPECT_EQ(*ParseStartTime("03:00:01.5+01:00"), std::chrono::hours(2));
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
  const auto listed =
      ReplicationParameters::Parse({{"schedulingInterval", "1h"},
                                    {"schedulingStartTime", "03:00:00+00:00"}});
  ASSERT_OK(wanted);
  ASSERT_OK(listed);
  EXPECT_EQ(*wanted->schedule, *listed->schedule);
}

}  // namespace
}  // namespace addons
