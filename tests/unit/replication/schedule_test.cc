// Mirror snapshot schedules, as promote and disable keep them.

#include <cerrno>

#include "absl/strings/match.h"
#include "replication/mirror_schedule.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ScheduleTest : public VerbsTest {
 protected:
  ScheduleTest() { AddMirrored(); }

  absl::Status PromoteEvery(const std::string& interval,
                            const std::string& start = "") {
    ParameterMap parameters = {{"schedulingInterval", interval}};
    if (!start.empty()) parameters["schedulingStartTime"] = start;
    return Promote(on_a_, Force::kNo, parameters);
  }
  std::vector<SnapshotSchedule> Present() {
    TestOperationContext context(world_);
    auto present =
        ListSchedules(context, on_a_.options(), *pair_.cluster(a_),
                      absl::StrCat(MirroredPair::kPool, "/", image_));
    EXPECT_OK(present);
    return present.ok() ? *present : std::vector<SnapshotSchedule>();
  }
  std::string Command(const std::string& verb, const std::string& level,
                      const std::string& interval) {
    return absl::StrCat(R"({"prefix":"rbd mirror snapshot schedule )", verb,
                        R"(","level_spec":")", level, R"(","interval":")",
                        interval, R"("})");
  }
  /// As an administrator would.
  void Add(const std::string& level, const std::string& interval) {
    ASSERT_OK(pair_.cluster(a_)->MgrCommand(Command("add", level, interval)));
    world_.ClearCalls();
  }
  const std::string spec_ = absl::StrCat(MirroredPair::kPool, "/", image_);
};

TEST_F(ScheduleTest, PromoteSetsTheWantedOne) {
  EXPECT_OK(PromoteEvery("5m"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].interval, minutes(5));
}

TEST_F(ScheduleTest, WantedOneThatIsThereIsKept) {
  ASSERT_OK(PromoteEvery("5m", "14:00:00-05:00"));
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("5m", "14:00:00-05:00"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ScheduleTest, SameIntervalInAnotherUnitIsKept) {
  ASSERT_OK(PromoteEvery("60m"));
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("1h"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ScheduleTest, SameStartTimeInAnotherZoneIsKept) {
  ASSERT_OK(PromoteEvery("1d", "14:00:00-05:00"));
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("1d", "19:00:00Z"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ScheduleTest, NewIntervalReplacesTheOldOne) {
  ASSERT_OK(PromoteEvery("5m"));
  EXPECT_OK(PromoteEvery("1h"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].interval, minutes(60));
}

TEST_F(ScheduleTest, NewStartTimeReplacesTheOldOne) {
  ASSERT_OK(PromoteEvery("1d", "03:00:00Z"));
  EXPECT_OK(PromoteEvery("1d", "04:00:00Z"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].start_of_day, seconds(4 * 3600));
}

TEST_F(ScheduleTest, AllOtherOnesAreRemoved) {
  Add(spec_, "7m");
  Add(spec_, "9m");
  EXPECT_OK(PromoteEvery("5m"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].interval, minutes(5));
}

TEST_F(ScheduleTest, NewOneIsAddedBeforeTheOldOneGoes) {
  ASSERT_OK(PromoteEvery("5m"));
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("1h"));
  std::vector<std::string> changes;
  for (const CallRecord& call : world_.Calls()) {
    if (call.mutation) changes.push_back(call.object);
  }
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_THAT(changes[0], HasSubstr("schedule add"));
  EXPECT_THAT(changes[1], HasSubstr("schedule remove"));
}

TEST_F(ScheduleTest, ScheduleOfThePoolIsNotTheImages) {
  Add(absl::StrCat(MirroredPair::kPool, "/"), "3m");
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_THAT(a_.Schedules(), HasSubstr("3m"));
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), HasSubstr("3m"));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr("5m")));
}

TEST_F(ScheduleTest, NoIntervalLeavesSchedulesAlone) {
  Add(spec_, "7m");
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, ManagerThatIsStartingIsAwaited) {
  a_.SetMgrModuleReady(false);
  world_.Schedule(seconds(20), [this] { a_.SetMgrModuleReady(true); });
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_GE(took_, seconds(20));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, ManagerThatStaysAwayIsUnavailable) {
  a_.SetMgrModuleReady(false);
  deadline_ = minutes(3);
  EXPECT_THAT(PromoteEvery("5m"), StatusIs(absl::StatusCode::kUnavailable,
                                           HasSubstr("rbd_support")));
}

TEST_F(ScheduleTest, JournalModeHasNoSchedule) {
  a_.RemoveImage(image_);
  a_.AddImage(MirroredPair::kPool, "", image_);
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  ASSERT_OK(Promote(on_a_));  // corrects the image id
  world_.ClearCalls();
  EXPECT_OK(
      Promote(on_a_, Force::kNo,
              {{"mirroringMode", "journal"}, {"schedulingInterval", "5m"}}));
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 0);
}

TEST_F(ScheduleTest, PlannedMoveSetsItOnTheOtherSite) {
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_, Force::kNo, {{"schedulingInterval", "5m"}}));
  EXPECT_THAT(b_.Schedules(), HasSubstr(image_));
}

TEST_F(ScheduleTest, NamespaceIsPartOfTheLevel) {
  constexpr char kOther[] = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  id_ = pair_.AddMirroredVolume(a_, kOther, uint64_t{4} << 20,
                                MirroredPair::kNamespace);
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_THAT(a_.Schedules(),
              HasSubstr(absl::StrCat("replicapool/tenant1/csi-vol-", kOther)));
}

}  // namespace
}  // namespace addons::testing
