// Mirror snapshot schedules, as promote and disable keep them.

#include <cerrno>
#include <chrono>
#include <memory>
#include <stop_token>

#include "absl/strings/match.h"
#include "ceph/mirror.h"
#include "operation/operation_table.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/upkeep.h"
#include "tests/unit/replication/verbs_fixture.h"
#include "watch/background_upkeep.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

// Seen on Ceph 16 to 20: the manager adds the offset where it has to be taken
// off, so that "14:00-05:00" runs at 9:00 UTC.
TEST_F(ScheduleTest, TheManagerIsToldUtc) {
  ASSERT_OK(PromoteEvery("1d", "14:00:00-05:00"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].start_time, "19:00:00+00:00");
}

TEST_F(ScheduleTest, OneThatAnEarlierVersionToldInAnotherZoneIsReplaced) {
  ASSERT_OK(pair_.cluster(a_)->MgrCommand(
      R"({"prefix":"rbd mirror snapshot schedule add","level_spec":")" + spec_ +
      R"(","interval":"1d","start_time":"14:00:00-05:00"})"));
  EXPECT_OK(PromoteEvery("1d", "14:00:00-05:00"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].start_time, "19:00:00+00:00");
}

TEST_F(ScheduleTest, SecondsOfAStartTimeDoNotMatter) {
  ASSERT_OK(PromoteEvery("1d", "14:00:30Z"));
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("1d", "14:00:30Z"));
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
  EXPECT_EQ(Present()[0].start->of_day, seconds(4 * 3600));
}

/// With the managers of Ceph 16 to 20, and of 21, which takes dates alone.
class ScheduleOfReleaseTest : public ScheduleTest,
                              public ::testing::WithParamInterface<bool> {
 protected:
  ScheduleOfReleaseTest() { a_.SetManagerOf21(GetParam()); }
};

TEST_P(ScheduleOfReleaseTest, IsSetKeptReplacedAndRemoved) {
  const auto promoted_once = [this](const std::string& start,
                                    const std::string& of_day) {
    EXPECT_OK(PromoteEvery("1d", start));
    ASSERT_THAT(Present(), SizeIs(1));
    EXPECT_THAT(Present()[0].start_time, HasSubstr(of_day));
    world_.ClearCalls();
    EXPECT_OK(PromoteEvery("1d", start));
    EXPECT_EQ(world_.CountMutations(), 0);
    const auto info = Info(on_a_);
    ASSERT_OK(info);
    EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
  };
  promoted_once("14:00:00-05:00", "19:00:00+00:00");
  promoted_once("2026-11-20T03:00:00Z", "03:00:00+00:00");
  promoted_once("", "");
  promoted_once("2026-11-20T23:30:00+09:00", "14:30:00+00:00");
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
}

// After an upgrade the manager keeps what an older one has written.
TEST_P(ScheduleOfReleaseTest, OneOfTheOtherReleaseIsTakenOver) {
  a_.SetManagerOf21(!GetParam());
  ASSERT_OK(PromoteEvery("1d", "2026-11-20T03:00:00Z"));
  a_.SetManagerOf21(GetParam());
  EXPECT_OK(PromoteEvery("1d", "2026-11-20T03:00:00Z"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_OK(PromoteEvery("1d", "04:00:00Z"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_THAT(Present()[0].start_time, HasSubstr("04:00:00"));
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
}

INSTANTIATE_TEST_SUITE_P(Releases, ScheduleOfReleaseTest, ::testing::Bool());

// The manager keeps "0m", which the rbd command was seen to pass on.
TEST_F(ScheduleTest, OneOfNoIntervalIsNobodysAndRemoved) {
  Add(spec_, "0m");
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_FALSE(Present()[0].Runs());
  EXPECT_OK(PromoteEvery("5m"));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].interval, minutes(5));
}

TEST_F(ScheduleTest, OneOfNoIntervalDoesNotKeepDisableFromOk) {
  Add(spec_, "0m");
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(Present(), IsEmpty());
}

TEST_F(ScheduleTest, OneOfNoIntervalDoesNotApply) {
  Add(spec_, "0m");
  Add(absl::StrCat(MirroredPair::kPool, "/"), "7m");
  const auto applied =
      ReadAppliedSchedules(*pair_.cluster(a_), spec_, a_.ImageId(image_));
  ASSERT_OK(applied);
  EXPECT_THAT(applied->own, IsEmpty());
  const auto pool = ReadPoolSchedules(*pair_.cluster(a_),
                                      absl::StrCat(MirroredPair::kPool, "/"));
  ASSERT_OK(pool);
  EXPECT_FALSE(pool->own.contains(a_.ImageId(image_)));
  EXPECT_THAT(pool->inherited, SizeIs(1));
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
    if (call.mutation && absl::StrContains(call.object, "schedule ")) {
      changes.push_back(call.object);
    }
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
  world_.Schedule(seconds(5), [this] { a_.SetMgrModuleReady(true); });
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_GE(took_, seconds(5));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, ManagerThatStaysAwayKeepsNoPrimaryFromOk) {
  a_.SetMgrModuleReady(false);
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
  a_.SetMgrModuleReady(true);
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, ManagerWithoutTheModuleKeepsNoPrimaryFromOk) {
  for (const int error : {0, EOPNOTSUPP, EIO}) {
    SCOPED_TRACE(error);
    if (error == 0) {
      a_.SetMgrHasModule(false);
    } else {
      world_.SetCallHook(
          [error](absl::string_view, absl::string_view call, bool) {
            return call == "rados_mgr_command" ? error : 0;
          });
    }
    const std::string interval = absl::StrCat(5 + error, "m");
    EXPECT_OK(PromoteEvery(interval));
    EXPECT_LT(took_, seconds(15));
    const auto info = Info(on_a_);
    ASSERT_OK(info);
    EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
    EXPECT_THAT(info->message, HasSubstr("manager does not tell"));
    EXPECT_THAT(info->upkeep, SizeIs(1));
    EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(1));
    a_.SetMgrHasModule(true);
    world_.SetCallHook(nullptr);
    TestOperationContext context(world_);
    EXPECT_OK(KeepUp(context, on_a_.environment(), {on_a_.Target(id_)}));
    ASSERT_THAT(Present(), SizeIs(1));
    EXPECT_EQ(Present()[0].interval, minutes(5 + error));
  }
}

TEST_F(ScheduleTest, LostLeaseIsNoSilenceOfTheManager) {
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd.metadata_set") world_.Advance(seconds(70));
    return 0;
  });
  EXPECT_THAT(PromoteEvery("5m"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lease")));
  world_.SetCallHook(nullptr);
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, ManagerWithoutTheModuleKeepsADisableWaiting) {
  ASSERT_OK(PromoteEvery("5m"));
  a_.SetMgrHasModule(false);
  EXPECT_THAT(Disable(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                       HasSubstr("rbd_support")));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
}

TEST_F(ScheduleTest, ManagerIsAskedWhereNothingToRemoveIsWrittenDown) {
  world_.ClearCalls();
  EXPECT_OK(Disable(on_a_));
  EXPECT_GE(world_.CountCalls("a", "rados_mgr_command"), 1);
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(ScheduleTest, ManagerIsNotAskedForTheWantedOneThatIsThere) {
  ASSERT_OK(PromoteEvery("5m"));
  a_.SetMgrUp(false);
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("5m"));
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 0);
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(0));
}

TEST_F(ScheduleTest, ManagerIsAskedForWhatItKeepsInAnotherWay) {
  ASSERT_OK(PromoteEvery("5m"));
  for (const char* const kept : {"", "{}", "[7]", R"([{"interval":"2w"}])"}) {
    a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                    absl::StrCat(pair_.pool_id(a_), "//", a_.ImageId(image_)),
                    kept);
    world_.ClearCalls();
    EXPECT_OK(PromoteEvery("5m"));
    EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 1) << kept;
    EXPECT_EQ(world_.CountMutations(), 0) << kept;
    ASSERT_OK(Info(on_a_));
  }
}

TEST_F(ScheduleTest, ManagerIsAskedForWhatCannotBeRead) {
  ASSERT_OK(PromoteEvery("5m"));
  world_.ClearCalls();
  // A look reads two keys before.
  const auto fail_third = [this](int error) {
    world_.SetCallHook([reads = std::make_shared<int>(0), error](
                           absl::string_view, absl::string_view call, bool) {
      return call == "rados_read_op_omap_get_vals_by_keys2" && ++*reads == 3
                 ? error
                 : 0;
    });
  };
  for (const int error : {ETIMEDOUT, EACCES, EIO}) {
    fail_third(error);
    EXPECT_OK(PromoteEvery("5m"));
    EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 1) << error;
    EXPECT_THAT(Present(), SizeIs(1));
    world_.ClearCalls();
  }
  fail_third(ETIMEDOUT);
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
}

TEST_F(ScheduleTest, WhatWasDueIsSetInTheBackground) {
  a_.SetMgrHasModule(false);
  ASSERT_OK(PromoteEvery("5m"));
  a_.SetMgrHasModule(true);
  on_a_.options().upkeep_interval = std::chrono::milliseconds(10);
  OperationTable operations(OperationLimits(), RealClock());
  {
    const BackgroundUpkeep upkeep(operations, on_a_.environment());
    const SteadyTime give_up = RealClock().Now() + seconds(30);
    while (!on_a_.environment().due_schedules.All().empty() &&
           RealClock().Now() < give_up) {
      RealClock().SleepFor(std::chrono::milliseconds(5), std::stop_token());
    }
  }
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(0));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(ScheduleTest, WhatIsDueStaysDueWhileTheManagerIsAway) {
  a_.SetMgrHasModule(false);
  ASSERT_OK(PromoteEvery("5m"));
  on_a_.options().upkeep_interval = std::chrono::milliseconds(10);
  OperationTable operations(OperationLimits(), RealClock());
  world_.ClearCalls();
  {
    const BackgroundUpkeep upkeep(operations, on_a_.environment());
    const SteadyTime give_up = RealClock().Now() + seconds(30);
    while (world_.CountCalls("a", "rados_mgr_command") < 2 &&
           RealClock().Now() < give_up) {
      RealClock().SleepFor(std::chrono::milliseconds(5), std::stop_token());
    }
  }
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(1));
}

/// Schedules as the manager keeps them, by "pool id/namespace/image id".
class StaleScheduleTest : public ScheduleTest {
 protected:
  static constexpr char kSchedules[] = "rbd_mirror_snapshot_schedule";
  void Keep(const std::string& level) {
    a_.AddOmapValue(MirroredPair::kPool, "", kSchedules, level, "[]");
  }
  bool Kept(const std::string& level) {
    return a_.Omap(MirroredPair::kPool, "", kSchedules).contains(level);
  }
  std::string LevelOf(const std::string& image_id) {
    return absl::StrCat(pair_.pool_id(a_), "//", image_id);
  }
};

// The manager would wait for space with a lock, and no image of any pool would
// get a mirror snapshot by schedule.
TEST_F(StaleScheduleTest, DisableInAFullPoolTakesThemFromWhereTheyAreKept) {
  ASSERT_OK(PromoteEvery("5m"));
  const std::string level = LevelOf(Journal(a_)["csi.imageid"]);
  ASSERT_TRUE(Kept(level));
  a_.SetFull(true);
  world_.ClearCalls();
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 0);
  EXPECT_FALSE(Kept(level));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(ScheduleTest, TheManagerIsToldNothingThatItWritesIntoAFullPool) {
  const auto becomes_full = [this](absl::string_view, absl::string_view call,
                                   bool) {
    if (call == "rbd.metadata_set") a_.SetFull(true);
    return 0;
  };
  world_.SetCallHook(becomes_full);
  world_.ClearCalls();
  EXPECT_OK(PromoteEvery("5m"));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 0);
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(1));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
  a_.SetFull(false);
  TestOperationContext context(world_);
  EXPECT_OK(KeepUp(context, on_a_.environment(), {on_a_.Target(id_)}));
  EXPECT_THAT(Present(), SizeIs(1));
}

TEST_F(StaleScheduleTest, ScheduleOfAnImageIdThatIsGoneGoes) {
  // As after a resync: the manager keeps the schedule of the old id, which
  // cannot be named any more.
  const std::string level = LevelOf(Journal(a_)["csi.imageid"]);
  a_.AddImage(MirroredPair::kPool, "", "another");
  const std::string another = LevelOf(a_.ImageId("another"));
  Keep(level);
  Keep(another);
  a_.RemoveImage(image_);
  a_.AddImage(MirroredPair::kPool, "", image_);
  a_.EnableMirroring(image_);
  ASSERT_OK(Promote(on_a_));
  EXPECT_FALSE(Kept(level));
  EXPECT_TRUE(Kept(another));
}

TEST_F(StaleScheduleTest, OfACopyThatIsResyncedGoesWithTheRequest) {
  // Nobody need ask again: orchestrators let go of a resync that has begun.
  a_.SetClusterUp(false);
  world_.Advance(minutes(3));
  b_.Promote(image_, Force::kYes);
  a_.SetClusterUp(true);
  world_.Advance(minutes(1));
  ASSERT_OK(Demote(on_a_));
  // Both sites have reported since, and rbd-mirror is not just looking again.
  world_.Advance(minutes(3) + seconds(10));
  const std::string own = LevelOf(a_.ImageId(image_));
  Keep(own);
  Keep(LevelOf("10a1"));
  const auto answer = Resync(on_a_, Force::kYes);
  ASSERT_OK(answer.status());
  ASSERT_FALSE(answer->ready);
  EXPECT_FALSE(Kept(own));
}

TEST_F(StaleScheduleTest, WhatAnEarlierCallDidNotRemoveGoesWithTheNext) {
  // The journal has the new id already: a daemon died, or a removal failed.
  const std::string own = LevelOf(a_.ImageId(image_));
  for (const std::string& level :
       {LevelOf("10a1"), LevelOf("10a2"), own, std::string("2"),
        std::string("2/"), std::string("2/tenant1/10a1"),
        std::string("22//10a1")}) {
    Keep(level);
  }
  ASSERT_OK(Enable(on_a_));
  EXPECT_FALSE(Kept(LevelOf("10a1")));
  EXPECT_FALSE(Kept(LevelOf("10a2")));
  EXPECT_TRUE(Kept(own));
  EXPECT_TRUE(Kept("2"));
  EXPECT_TRUE(Kept("2/"));
  // Of another namespace or pool.
  EXPECT_TRUE(Kept("2/tenant1/10a1"));
  EXPECT_TRUE(Kept("22//10a1"));
}

TEST_F(StaleScheduleTest, AreLookedForOnceInTenMinutes) {
  ASSERT_OK(Enable(on_a_));
  Keep(LevelOf("10a1"));
  world_.Advance(minutes(9));
  world_.ClearCalls();
  ASSERT_OK(Promote(on_a_));
  EXPECT_TRUE(Kept(LevelOf("10a1")));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_a_));
  EXPECT_FALSE(Kept(LevelOf("10a1")));
}

TEST_F(StaleScheduleTest, ThatCannotBeRemovedStayAndHarmNoVerb) {
  Keep(LevelOf("10a1"));
  Fail("rados_write_op_omap_rm_keys2", EIO, 1);
  EXPECT_OK(Enable(on_a_));
  EXPECT_TRUE(Kept(LevelOf("10a1")));
  EXPECT_OK(Promote(on_a_));
  EXPECT_FALSE(Kept(LevelOf("10a1")));
}

TEST_F(StaleScheduleTest, OfAnImageThatCannotBeAskedForStay) {
  Keep(LevelOf("10a1"));
  Fail("rados_list_watchers", EIO, 100);
  EXPECT_OK(Enable(on_a_));
  EXPECT_TRUE(Kept(LevelOf("10a1")));
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

/// A move of the volume to the other site, and back, without an interval.
class FormerScheduleTest : public ScheduleTest {
 protected:
  void MoveToB(const ParameterMap& parameters = {}) {
    world_.Advance(minutes(2));
    ASSERT_OK(Demote(on_a_));
    world_.Advance(minutes(2));
    ASSERT_OK(Promote(on_b_, Force::kNo, parameters));
  }
  std::vector<SnapshotSchedule> OnB() {
    TestOperationContext context(world_);
    auto present =
        ListSchedules(context, on_b_.options(), *pair_.cluster(b_), spec_);
    EXPECT_OK(present);
    return present.value_or(std::vector<SnapshotSchedule>());
  }
  std::vector<std::string> NotesOf(Daemon& daemon) {
    std::vector<std::string> texts;
    for (const HistoryBatch& batch :
         daemon.environment().history.Take({}, true)) {
      for (const auto& [key, event] : batch.events) texts.push_back(event.text);
    }
    return texts;
  }
};

TEST_F(FormerScheduleTest, ThatOfTheOtherSiteIsTakenOver) {
  ASSERT_OK(PromoteEvery("7m", "03:00:00Z"));
  MoveToB();
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0], Present()[0]);
}

/// The same in a RADOS namespace.
class FormerScheduleInANamespaceTest : public FormerScheduleTest {
 protected:
  FormerScheduleInANamespaceTest() {
    constexpr char kOther[] = "6ef79ce1-81e8-439b-8405-35138edf5b89";
    id_ = pair_.AddMirroredVolume(a_, kOther, uint64_t{4} << 20,
                                  MirroredPair::kNamespace);
    in_namespace_ = absl::StrCat(MirroredPair::kPool, "/",
                                 MirroredPair::kNamespace, "/csi-vol-", kOther);
  }
  /// By a user who may not read the default namespace after the promotion.
  void KeepOut(int of_manager = 0) {
    world_.SetCallHook([this, of_manager](absl::string_view site,
                                          absl::string_view call, bool) {
      if (site != "b") return 0;
      if (call == "rbd_mirror_image_promote") promoted_ = true;
      if (call == "rados_mgr_command") return of_manager;
      return promoted_ && call == "rados_read_op_omap_get_vals_by_keys2" ? EPERM
                                                                         : 0;
    });
  }
  std::vector<SnapshotSchedule> OnB() {
    world_.SetCallHook(nullptr);
    TestOperationContext context(world_);
    auto present = ListSchedules(context, on_b_.options(), *pair_.cluster(b_),
                                 in_namespace_);
    EXPECT_OK(present);
    return present.value_or(std::vector<SnapshotSchedule>());
  }

  bool promoted_ = false;
  std::string in_namespace_;
};

TEST_F(FormerScheduleInANamespaceTest, ThatOfTheOtherSiteIsTakenOver) {
  ASSERT_OK(PromoteEvery("7m"));
  MoveToB();
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0].interval, minutes(7));
}

TEST_F(FormerScheduleInANamespaceTest, TheManagerIsAskedWhereItCannotBeRead) {
  ASSERT_OK(PromoteEvery("7m"));
  KeepOut();
  MoveToB();
  EXPECT_TRUE(promoted_);
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0].interval, minutes(7));
}

TEST_F(FormerScheduleInANamespaceTest, OneThatWasSetByHandStays) {
  ASSERT_OK(PromoteEvery("7m"));
  ASSERT_OK(pair_.cluster(b_)
                ->MgrCommand(Command("add", in_namespace_, "11m"))
                .status());
  KeepOut();
  MoveToB();
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0].interval, minutes(11));
}

TEST_F(FormerScheduleInANamespaceTest, ASilentManagerIsToldLater) {
  ASSERT_OK(PromoteEvery("7m"));
  KeepOut(ETIMEDOUT);
  MoveToB();
  EXPECT_THAT(OnB(), IsEmpty());
  // No other promotion is needed.
  EXPECT_THAT(on_b_.environment().due_schedules.All(), SizeIs(1));
  TestOperationContext context(world_);
  EXPECT_OK(KeepUp(context, on_b_.environment(), {on_b_.Target(id_)}));
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0].interval, minutes(7));
}

TEST_F(FormerScheduleInANamespaceTest, ASilentManagerIsWaitedForOnce) {
  KeepOut(ETIMEDOUT);
  MoveToB();
  EXPECT_TRUE(promoted_);
  EXPECT_LT(took_, seconds(15));
}

TEST_F(FormerScheduleInANamespaceTest, WhoMayNotAskIsToldThatItIsPrimary) {
  ASSERT_OK(PromoteEvery("7m"));
  KeepOut(EACCES);
  on_b_.environment().history.Begin();
  MoveToB();
  EXPECT_THAT(OnB(), IsEmpty());
  EXPECT_THAT(NotesOf(on_b_),
              Contains(HasSubstr("with a schedule that cannot be seen")));
}

TEST_F(FormerScheduleTest, ThatOfTheOtherSiteIsNewerThanItsOwn) {
  ASSERT_OK(PromoteEvery("7m"));
  MoveToB({{"schedulingInterval", "1h"}});
  world_.Advance(minutes(2));
  ASSERT_OK(Demote(on_b_));
  world_.Advance(minutes(2));
  ASSERT_OK(Promote(on_a_));
  ASSERT_THAT(Present(), SizeIs(1));
  EXPECT_EQ(Present()[0].interval, minutes(60));
}

TEST_F(FormerScheduleTest, OneThatWasSetByHandStays) {
  ASSERT_OK(PromoteEvery("7m"));
  ASSERT_OK(
      pair_.cluster(b_)->MgrCommand(Command("add", spec_, "11m")).status());
  MoveToB();
  ASSERT_THAT(OnB(), SizeIs(1));
  EXPECT_EQ(OnB()[0].interval, minutes(11));
}

// Clones inherit metadata.
TEST_F(FormerScheduleTest, ThatOfAnotherImageIsNoConcernOfThis) {
  ASSERT_OK(PromoteEvery("7m"));
  a_.SetImageMetadata(image_, kScheduleMark,
                      R"({"interval":"7m","global_id":"another"})");
  MoveToB();
  EXPECT_THAT(OnB(), IsEmpty());
}

TEST_F(FormerScheduleTest, APrimaryWithoutAnyIsToldAndNeverHealthy) {
  on_b_.environment().history.Begin();
  MoveToB();
  EXPECT_THAT(OnB(), IsEmpty());
  EXPECT_THAT(NotesOf(on_b_),
              Contains(HasSubstr("primary without a schedule")));
  world_.Advance(minutes(2));
  const auto info = Info(on_b_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info->message, HasSubstr("no mirror snapshot schedule applies"));
}

TEST_F(FormerScheduleTest, ThatOfThePoolIsOne) {
  on_b_.environment().history.Begin();
  ASSERT_OK(pair_.cluster(b_)
                ->MgrCommand(Command(
                    "add", absl::StrCat(MirroredPair::kPool, "/"), "11m"))
                .status());
  MoveToB();
  EXPECT_THAT(NotesOf(on_b_), Not(Contains(HasSubstr("without a schedule"))));
}

TEST_F(FormerScheduleTest, ThatOfTheClusterIsOne) {
  on_b_.environment().history.Begin();
  ASSERT_OK(pair_.cluster(b_)->MgrCommand(Command("add", "", "11m")).status());
  MoveToB();
  EXPECT_THAT(NotesOf(on_b_), Not(Contains(HasSubstr("without a schedule"))));
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
