// Mirror snapshot schedules that are kept aside, and put back.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "inspection/explain.h"
#include "inspection/failover_check.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/upkeep.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class PauseTest : public VerbsTest {
 protected:
  PauseTest() { AddMirrored(); }

  absl::Status PromoteEvery(Daemon& daemon, const std::string& interval) {
    return Promote(daemon, Force::kNo, {{"schedulingInterval", interval}});
  }
  /// As an administrator would.
  void Tell(FakeSite& site, const std::string& verb, const std::string& level,
            const std::string& interval, const std::string& start = "") {
    ASSERT_OK(pair_.cluster(site)->MgrCommand(absl::StrCat(
        R"({"prefix":"rbd mirror snapshot schedule )", verb,
        R"(","level_spec":")", level, R"(","interval":")", interval, R"(")",
        start.empty() ? "" : absl::StrCat(R"(,"start_time":")", start, R"(")"),
        "}")));
  }
  void Add(const std::string& interval, const std::string& start = "") {
    Tell(a_, "add", spec_, interval, start);
  }
  /// "5m" and the like, with "@" and the start time where there is one.
  std::vector<std::string> Present(Daemon& daemon) {
    TestOperationContext context(world_);
    const auto listed = ListSchedules(context, daemon.options(),
                                      *pair_.cluster(daemon.site()), spec_);
    EXPECT_OK(listed);
    std::vector<std::string> texts;
    for (const SnapshotSchedule& schedule : *listed) {
      texts.push_back(absl::StrCat(schedule.interval_text,
                                   schedule.start_time.empty() ? "" : "@",
                                   schedule.start_time));
    }
    return texts;
  }
  std::optional<SchedulePause> Noted() {
    return addons::Noted(a_, image_).pause;
  }
  absl::Status KeepUpA() {
    TestOperationContext context(world_);
    return KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
  }
  /// Paused, moved to b and demoted there: a is next.
  void PauseAndMoveThere() {
    ASSERT_OK(Pause(on_a_));
    ASSERT_OK(Demote(on_a_));
    world_.Advance(minutes(1));
    ASSERT_OK(PromoteEvery(on_b_, "7m"));
    world_.Advance(minutes(1));
    ASSERT_OK(Demote(on_b_));
    world_.Advance(minutes(1));
  }
  const std::string spec_ = absl::StrCat(MirroredPair::kPool, "/", image_);
};

TEST_F(PauseTest, KeepsWhatTheManagerHasAndPutsItBack) {
  Add("5m");
  Add("1d", "03:00:00+00:00");
  const auto paused = Pause(on_a_);
  ASSERT_OK(paused);
  EXPECT_TRUE(paused->changed);
  EXPECT_TRUE(paused->since.has_value());
  EXPECT_THAT(paused->schedules,
              AllOf(HasSubstr("every 5m"), HasSubstr("every 1d from 03:00")));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  EXPECT_TRUE(a_.Info(image_).primary);
  const auto resumed = Resume(on_a_);
  ASSERT_OK(resumed);
  EXPECT_TRUE(resumed->changed);
  EXPECT_EQ(resumed->schedules, paused->schedules);
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m", "1d@03:00:00+00:00"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, WhatIsPausedStaysSoSinceThen) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  const auto first = Pause(on_a_);
  ASSERT_OK(first);
  world_.Advance(minutes(3));
  world_.ClearCalls();
  const auto again = Pause(on_a_);
  ASSERT_OK(again);
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(again->since, first->since);
  EXPECT_THAT(again->message, HasSubstr("paused already"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PauseTest, WhatIsNotPausedIsResumedAlready) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  world_.ClearCalls();
  const auto resumed = Resume(on_a_);
  ASSERT_OK(resumed);
  EXPECT_FALSE(resumed->changed);
  EXPECT_THAT(resumed->message, HasSubstr("not paused"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// --- who refuses

TEST_F(PauseTest, AVolumeWithoutAScheduleHasNothingToPause) {
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("none to pause")));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, AScheduleOfThePoolIsNamedAndNothingIsChanged) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  Tell(a_, "add", absl::StrCat(MirroredPair::kPool, "/"), "3m");
  world_.ClearCalls();
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("its pool"), HasSubstr("every 3m"),
                             HasSubstr("schedule remove"))));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
}

TEST_F(PauseTest, AScheduleOfTheClusterIsNamedToo) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  Tell(a_, "add", "", "3m");
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("the whole cluster")));
}

TEST_F(PauseTest, ASecondaryNamesTheSiteToAsk) {
  world_.Advance(minutes(1));
  for (const auto& answer : {Pause(on_b_).status(), Resume(on_b_).status()}) {
    EXPECT_THAT(answer, StatusIs(kFailedPrecondition,
                                 AllOf(HasSubstr("secondary on this site"),
                                       HasSubstr("on site 'site-a'"))));
  }
}

TEST_F(PauseTest, AVolumeThatIsNotReplicatedIsRefused) {
  ASSERT_OK(Disable(on_a_));
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("enable it first")));
  EXPECT_THAT(Resume(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("enable it first")));
}

TEST_F(PauseTest, AnImageThatIsGoneIsSaid) {
  a_.RemoveImage(image_);
  EXPECT_THAT(Pause(on_a_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(PauseTest, APrimaryThatRefusesWritesIsPromotedFirst) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  a_.RefuseWrites(image_);
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kUnavailable, HasSubstr("promote it again")));
  EXPECT_THAT(Present(on_a_), SizeIs(1));
}

class JournalPauseTest : public VerbsTest {};

TEST_F(JournalPauseTest, JournalModeHasNoSchedule) {
  AddPlain();
  pair_.AddJournal(b_, kUuid);
  ASSERT_OK(Enable(on_a_, {{"mirroringMode", "journal"}}));
  EXPECT_THAT(Pause(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("journal mode")));
  EXPECT_THAT(Resume(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("journal mode")));
}

// --- what does not end it

TEST_F(PauseTest, TheOperatorsRepeatedCallsDoNotEndIt) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  EXPECT_OK(KeepUpA());
  world_.ClearCalls();
  EXPECT_OK(Enable(on_a_, {{"schedulingInterval", "5m"}}));
  EXPECT_OK(PromoteEvery(on_a_, "5m"));
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(KeepUpA());
  ASSERT_OK(Info(on_a_));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  EXPECT_EQ(world_.CountMutations(), 0);
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
}

TEST_F(PauseTest, AnIntervalThatIsAskedForMeanwhileIsPutBackInItsPlace) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  EXPECT_OK(PromoteEvery(on_a_, "1h"));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_TRUE(Noted().has_value());
  EXPECT_EQ(Noted()->step, PauseStep::kPaused);
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("1h"));
}

TEST_F(PauseTest, AnotherDaemonKnowsOfIt) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  const auto paused = Pause(on_a_);
  ASSERT_OK(paused);
  Daemon other(world_, pair_, a_);
  EXPECT_OK(PromoteEvery(other, "5m"));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  world_.Advance(minutes(1));
  const auto again = Pause(other);
  ASSERT_OK(again);
  EXPECT_EQ(again->since, paused->since);
  ASSERT_OK(Resume(other));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  EXPECT_FALSE(Resume(on_a_)->changed);
}

// Two at a time take turns, by the lease: the second one looks again.
TEST_F(PauseTest, OneThatIsOvertakenByAResumeLooksAgain) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  Daemon other(world_, pair_, a_);
  const auto done = std::make_shared<std::atomic<bool>>(false);
  world_.SetCallHook(
      [&, done](absl::string_view, absl::string_view call, bool) {
        if (call == "rados_lock_exclusive" && !done->exchange(true)) {
          FakeWorld::RunAside([&] {
            TestOperationContext context(world_);
            EXPECT_OK(ResumeSchedules(context, other.environment(),
                                      other.Target(id_)));
          });
        }
        return 0;
      });
  EXPECT_OK(PromoteEvery(on_a_, "1h"));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("1h"));
  EXPECT_FALSE(Noted().has_value());
}

// --- what ends it

TEST_F(PauseTest, APromotionEndsItAndPutsTheScheduleBack) {
  Add("5m");
  Add("1d", "03:00:00+00:00");
  PauseAndMoveThere();
  ASSERT_TRUE(Noted().has_value());
  EXPECT_OK(Promote(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m", "1d@03:00:00+00:00"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, APromotionWithAnIntervalEndsItWithThatOne) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  PauseAndMoveThere();
  EXPECT_OK(PromoteEvery(on_a_, "1h"));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("1h"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, AForcedPromotionEndsItToo) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  EXPECT_FALSE(Noted().has_value());
}

// `rbd mirror image demote` and `promote`.
TEST_F(PauseTest, AMoveThatAnotherProgramHalfMakesEndsItToo) {
  for (const bool demotes : {true, false}) {
    SCOPED_TRACE(demotes);
    ASSERT_OK(PromoteEvery(on_a_, "5m"));
    ASSERT_OK(Pause(on_a_));
    if (demotes) {
      a_.Demote(image_);
    } else {
      ASSERT_OK(Demote(on_a_));
    }
    world_.Advance(minutes(1));
    b_.Promote(image_, Force::kNo);
    world_.Advance(minutes(1));
    b_.Demote(image_);
    world_.Advance(minutes(1));
    if (demotes) {
      ASSERT_OK(Promote(on_a_));
    } else {
      a_.Promote(image_, Force::kNo);
      EXPECT_OK(KeepUpA());
    }
    EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
    EXPECT_FALSE(Noted().has_value());
    world_.Advance(minutes(1));
  }
}

TEST_F(PauseTest, ADemotionThatIsTakenBackEndsIt) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  deadline_ = minutes(3);
  EXPECT_OK(Promote(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, AManagerThatIsAwayAtThePromotionIsToldLater) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  PauseAndMoveThere();
  a_.SetMgrHasModule(false);
  EXPECT_OK(Promote(on_a_));
  ASSERT_TRUE(Noted().has_value());
  EXPECT_EQ(Noted()->step, PauseStep::kResuming);
  EXPECT_THAT(on_a_.environment().due_schedules.All(), SizeIs(1));
  world_.Advance(minutes(1));
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, HasSubstr("is not back yet"));
  EXPECT_THAT(info->upkeep, SizeIs(1));
  a_.SetMgrHasModule(true);
  EXPECT_OK(KeepUpA());
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, ADisableEndsIt) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  ASSERT_OK(Disable(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Enable(on_a_));
  EXPECT_FALSE(Noted().has_value());
  EXPECT_OK(PromoteEvery(on_a_, "5m"));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
}

// --- the manager, and others

TEST_F(PauseTest, AManagerThatIsAwayKeepsItWaiting) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  a_.SetMgrHasModule(false);
  EXPECT_THAT(Pause(on_a_), StatusIs(kUnavailable, HasSubstr("rbd_support")));
  a_.SetMgrHasModule(true);
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  ASSERT_OK(Pause(on_a_));
  a_.SetMgrHasModule(false);
  EXPECT_THAT(Resume(on_a_), StatusIs(kUnavailable, HasSubstr("rbd_support")));
  a_.SetMgrHasModule(true);
  // The wish is noted, so the upkeep carries it out.
  EXPECT_OK(KeepUpA());
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
  EXPECT_FALSE(Noted().has_value());
}

TEST_F(PauseTest, WhatWasAskedForWhileTheManagerWasAwayIsKept) {
  a_.SetMgrHasModule(false);
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  a_.SetMgrHasModule(true);
  ASSERT_OK(Pause(on_a_));
  EXPECT_OK(KeepUpA());
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
}

// In place of what was asked for.
TEST_F(PauseTest, WhatSomebodyHadSetByHandIsPutBackAlone) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  Tell(a_, "remove", spec_, "5m");
  Add("1h");
  ASSERT_OK(Pause(on_a_));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("1h"));
}

TEST_F(PauseTest, OneThatDiedIsGoneOnWithByTheUpkeep) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  Daemon dying(world_, pair_, a_);
  world_.SetCallHook(
      [](absl::string_view, absl::string_view call, bool change) {
        if (call == "rados_mgr_command" && change) throw FakeCrash();
        return 0;
      });
  EXPECT_THROW((void)Pause(dying), FakeCrash);
  world_.SetCallHook(nullptr);
  ASSERT_TRUE(Noted().has_value());
  EXPECT_EQ(Noted()->step, PauseStep::kPausing);
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, HasSubstr("may still have the schedule"));
  EXPECT_THAT(info->upkeep, SizeIs(1));
  EXPECT_OK(KeepUpA());
  EXPECT_EQ(Noted()->step, PauseStep::kPaused);
  EXPECT_THAT(Present(on_a_), IsEmpty());
}

TEST_F(PauseTest, WhatSomebodySetsMeanwhileIsNamedAndNotLost) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  Add("9m");
  EXPECT_OK(KeepUpA());
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message,
              AllOf(HasSubstr("paused since"), HasSubstr("every 9m")));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("9m"));
  ASSERT_OK(Pause(on_a_));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m", "9m"));
}

TEST_F(PauseTest, WhatSomebodySetsBesideOneThatDiedIsNotLost) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  LocalRecord record = addons::Noted(a_, image_);
  record.pause =
      SchedulePause{PauseStep::kPausing, 1795747600, R"([{"interval":"5m"}])"};
  Note(a_, image_, record);
  Add("9m");
  EXPECT_OK(KeepUpA());
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m", "9m"));
}

// The manager keeps "0m", which the rbd command was seen to pass on.
TEST_F(PauseTest, OneOfNoIntervalIsNobodysAndNotKept) {
  Add("5m");
  Add("0m");
  ASSERT_OK(Pause(on_a_));
  EXPECT_THAT(Present(on_a_), IsEmpty());
  ASSERT_OK(Resume(on_a_));
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("5m"));
}

TEST_F(PauseTest, WhatAnotherVersionHasWrittenIsNotDropped) {
  LocalRecord record = addons::Noted(a_, image_);
  record.pause = SchedulePause{PauseStep::kPaused, 1795747600,
                               R"([{"cron":"0 3 * * *"}])"};
  Note(a_, image_, record);
  EXPECT_THAT(Resume(on_a_),
              StatusIs(kUnavailable, HasSubstr("newer version")));
  ASSERT_TRUE(Noted().has_value());
  EXPECT_EQ(Noted()->schedules, record.pause->schedules);
  // Nor written over.
  Add("9m");
  EXPECT_THAT(Pause(on_a_), StatusIs(kUnavailable, HasSubstr("newer version")));
  record.pause->step = PauseStep::kPausing;
  Note(a_, image_, record);
  KeepUpA().IgnoreError();
  EXPECT_EQ(Noted()->schedules, record.pause->schedules);
  EXPECT_THAT(Present(on_a_), UnorderedElementsAre("9m"));
}

// --- who tells

TEST_F(PauseTest, InfoExplainAndTheCheckTellOfIt) {
  ASSERT_OK(PromoteEvery(on_a_, "5m"));
  ASSERT_OK(Pause(on_a_));
  world_.Advance(minutes(1));
  EXPECT_OK(KeepUpA());
  const auto said = AllOf(HasSubstr("paused since 2"), HasSubstr("every 5m"));
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info->message, said);
  EXPECT_THAT(info->upkeep, IsEmpty());
  TestOperationContext context(world_);
  const auto explained = ExplainVolume(context, on_a_.environment(),
                                       on_a_.Target(id_), std::nullopt);
  ASSERT_OK(explained);
  std::string pause;
  for (const Fact& fact : explained->facts) {
    if (fact.topic == "schedule" && fact.name == "pause") pause = fact.value;
  }
  EXPECT_THAT(pause, said);
  const auto findings = CheckFailover(context, on_a_.environment(),
                                      {on_a_.Target(id_)}, std::nullopt);
  ASSERT_OK(findings);
  ASSERT_THAT(*findings, SizeIs(1));
  EXPECT_THAT(findings->front().forecast.planned.reason, said);
}

}  // namespace
}  // namespace addons::testing
