// Moves between two living sites whose rbd-mirrors stop, die and come back, as
// an operator calls them: no answer makes it force a living site aside, and
// never are both told that they are primary.

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"
#include "ceph/mirror.h"
#include "replication/steps/promote.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class PlannedMoveTest : public VerbsTest {
 protected:
  PlannedMoveTest() {
    AddMirrored();
    world_.Advance(minutes(1));
  }

  /// b is primary then, with what was written on a.
  void MoveToB() {
    ASSERT_OK(Demote(on_a_));
    ASSERT_OK(Promote(on_b_));
    world_.Advance(minutes(2));
  }
  /// A copy of the other site's demotion is here, whole.
  void AwaitDemotionAt(FakeSite& site) {
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] { return Newest(site).demoted() && Newest(site).complete; },
        minutes(2)));
  }
  /// As the operator repeats it, for so long: never OK, nor what makes it
  /// force.
  void NeverPromoted(Daemon& daemon, SteadyDuration time) {
    const SteadyTime end = world_.Now() + time;
    while (world_.Now() < end) {
      ASSERT_THAT(Promote(daemon), StatusIs(kUnavailable));
      world_.Advance(seconds(15));
    }
  }
  /// So does each of the two, for so long: at most one of them is ever told.
  void NeverBothPromoted(SteadyDuration time) {
    deadline_ = seconds(5);
    bool a = false;
    bool b = false;
    const SteadyTime end = world_.Now() + time;
    while (world_.Now() < end && !(a && b)) {
      a = a || Promote(on_a_).ok();
      b = b || Promote(on_b_).ok();
      world_.Advance(seconds(1));
    }
    EXPECT_FALSE(a && b);
  }
  /// An rbd-mirror begins there, removes what those that are down have
  /// reported, and dies before it reports itself.
  void BeginAndDie(FakeSite& site) {
    site.SetMirrorDaemon(DaemonState::kRunning);
    world_.Advance(seconds(3));
    site.SetMirrorDaemon(DaemonState::kDown);
    world_.Advance(seconds(40));
  }
};

TEST_F(PlannedMoveTest, ALivingPrimaryIsNotForcedAsideByASiteThatDoesNotHear) {
  b_.SetMirrorDaemon(DaemonState::kEnded);
  ASSERT_OK(a_.Write(image_, 9));
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);  // refuses each demotion
  const SteadyTime end = world_.Now() + minutes(8);
  while (world_.Now() < end) {
    EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
    ASSERT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
}

TEST_F(PlannedMoveTest, ASplitBrainIsNotForcedByThePassingOfTime) {
  a_.SetMirrorDaemon(DaemonState::kDown);
  a_.SetClusterUp(false);
  ASSERT_OK(Promote(on_b_, Force::kYes));
  ASSERT_OK(b_.Write(image_, 9));
  world_.Advance(minutes(3));
  a_.SetClusterUp(true);
  a_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(minutes(3));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  // Moved back before it was resynced.
  const SteadyTime end = world_.Now() + minutes(8);
  while (world_.Now() < end) {
    EXPECT_FALSE(Demote(on_b_).ok());
    ASSERT_THAT(Promote(on_a_),
                StatusIs(kUnavailable, HasSubstr("promote that site")));
  }
}

TEST_F(PlannedMoveTest, TwoSitesAreNotPromotedWhileAnRbdMirrorBegins) {
  MoveToB();
  ASSERT_OK(b_.Write(image_, 9));
  ASSERT_OK(Demote(on_b_));
  AwaitDemotionAt(a_);
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(seconds(40));
  a_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(5));
  NeverBothPromoted(minutes(4));
}

TEST_F(PlannedMoveTest, AMoveThatIsOverIsNotUndoneWhereAllReportsWereRemoved) {
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(b_.Write(image_, 9));
  world_.Advance(minutes(1));
  BeginAndDie(b_);
  Daemon anew(world_, pair_, a_);
  NeverPromoted(anew, minutes(6));
}

TEST_F(PlannedMoveTest, AMoveThatIsOverIsNotUndoneWhereThePeerIsSilent) {
  MoveToB();
  world_.SetLinkUp(false);
  ASSERT_OK(b_.Write(image_, 9));
  world_.Advance(minutes(5));
  Daemon anew(world_, pair_, a_);
  const SteadyTime end = world_.Now() + minutes(6);
  while (world_.Now() < end) {
    ASSERT_THAT(Promote(anew), Not(StatusIs(absl::StatusCode::kOk)));
    world_.Advance(seconds(15));
  }
}

TEST_F(PlannedMoveTest, AnEarlierForcedPromotionDoesNotExplainMissingReports) {
  LoseA();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  a_.SetClusterUp(true);
  world_.Advance(minutes(3));
  ASSERT_OK(Demote(on_a_));
  SteadyTime end = world_.Now() + minutes(10);
  bool ready = false;
  while (!ready && world_.Now() < end) {
    const auto result = Resync(on_a_, Force::kYes);
    ready = result.ok() && result->ready;
    world_.Advance(seconds(15));
  }
  ASSERT_TRUE(ready);
  world_.Advance(minutes(3));
  // Back to b, in the same hour, from whom the forced promotion was.
  ASSERT_OK(Demote(on_b_));
  ASSERT_OK(Promote(on_a_));
  world_.Advance(minutes(3));
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(a_.Write(image_, 99));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  BeginAndDie(b_);
  NeverPromoted(on_b_, minutes(10));
}

TEST_F(PlannedMoveTest, ADemotionThatWasTakenBackUnseenDoesNotCount) {
  a_.Demote(image_);
  AwaitDemotionAt(b_);
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.Promote(image_, Force::kNo);
  ASSERT_OK(a_.Write(image_, 9));
  world_.Advance(seconds(40));
  a_.Demote(image_);
  world_.Advance(minutes(1));
  Daemon anew(world_, pair_, b_);
  NeverPromoted(anew, minutes(5));
  EXPECT_FALSE(b_.Info(image_).primary);
  // With its rbd-mirror the rest arrives.
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(minutes(2));
  EXPECT_OK(Promote(anew));
  EXPECT_EQ(b_.Data(image_), 9U);
}

/// How long ago the demotion was refused.
class RefusedBeforeDeathTest : public PlannedMoveTest,
                               public ::testing::WithParamInterface<int> {};

TEST_P(RefusedBeforeDeathTest, DoesNotKeepADeadSiteFromBeingRecognised) {
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.Advance(seconds(30));
  a_.RemoveWatcher(image_, 4464);
  for (int i = 0; i < GetParam(); ++i) {
    world_.Advance(minutes(1));
    a_.CreateMirrorSnapshot(image_);
  }
  world_.Advance(seconds(30));
  a_.SetMirrorDaemon(DaemonState::kDown);
  a_.SetClusterUp(false);
  const SteadyTime begin = world_.Now();
  absl::Status status = Promote(on_b_);
  while (absl::IsUnavailable(status) && world_.Now() < begin + minutes(15)) {
    world_.Advance(seconds(5));
    status = Promote(on_b_);
  }
  EXPECT_THAT(status,
              StatusIs(kFailedPrecondition, HasSubstr("no sign of life")));
  // A fresh note says that a workload is there, and stands for ten minutes.
  const bool fresh = GetParam() < 10;
  EXPECT_LT(world_.Now() - begin, fresh ? minutes(13) : minutes(4));
  EXPECT_EQ(world_.Now() - begin > minutes(5), fresh);
}
INSTANTIATE_TEST_SUITE_P(Minutes, RefusedBeforeDeathTest,
                         ::testing::Values(0, 1, 30));

/// Journal mode: both sites are demoted, and report it.
class JournalMoveTest : public VerbsTest {
 protected:
  JournalMoveTest() {
    AddPlain();
    a_.EnableMirroring(image_, MirrorMode::kJournal);
    world_.Advance(minutes(1));
    a_.Demote(image_);
  }
  /// Of this site's rbd-mirror and the peer's.
  void Report() {
    for (const std::string& uuid : {std::string(), b_.mirror_uuid()}) {
      a_.SetStatus(image_, uuid, MirrorStatusState::kUnknown,
                   "remote image is not primary");
    }
  }
};

TEST_F(JournalMoveTest, AnOwnDemotionIsNotTakenBackWithoutAReportOfThePeer) {
  Report();
  world_.Advance(seconds(20));
  // An rbd-mirror that began has removed the peer's.
  a_.RemoveStatuses(image_);
  a_.SetStatus(image_, "", MirrorStatusState::kUnknown,
               "remote image is not primary");
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Promote(on_a_), Not(StatusIs(absl::StatusCode::kOk)));
    EXPECT_FALSE(a_.Info(image_).primary);
  }
}

}  // namespace
}  // namespace addons::testing
