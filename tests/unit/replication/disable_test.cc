// Disabling: on the primary, on a secondary with a living and a dead peer.

#include "replication/steps/disable.h"

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "ceph/mirror.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DisableTest : public VerbsTest {
 protected:
  DisableTest() { AddMirrored(); }
  const ParameterMap force_{{"force", "true"}};
};

TEST_F(VerbsTest, DisableOfAnImageThatIsOffChangesNothing) {
  AddPlain();
  world_.ClearCalls();
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableTest, PrimaryIsSwitchedOffAndThePeersCopyGoes) {
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_TRUE(
      world_.AdvanceUntil([&] { return !b_.HasImage(image_); }, minutes(2)));
}

// librbd would wait for it without end.
TEST_F(DisableTest, ALockThatAPersonHasTakenIsNamed) {
  a_.AddLocker(image_, "10.0.0.9:0/99", 99, FakeSite::LockKind::kByHand);
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_a_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("client.99 at 10.0.0.9:0/99 has its lock "
                                 "'by-hand', which 'rbd lock rm' breaks")));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Demote(on_a_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("by-hand")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
  a_.RemoveLocker(image_);
  EXPECT_OK(Disable(on_a_));
}

TEST_F(DisableTest, MirroredClonesAreNamed) {
  a_.AddClone(image_, "clone");
  a_.EnableMirroring("clone");
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_a_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("it is the parent of replicapool/clone, "
                                 "which is mirrored")));
  EXPECT_EQ(world_.CountMutations(), 0);
  a_.RemoveImage("clone");
  EXPECT_OK(Disable(on_a_));
}

// The site that has demoted itself keeps its image for good when mirroring ends
// before its rbd-mirror has noticed the new primary.
TEST_F(DisableTest, RightAfterAMoveItWaitsUntilThePeerFollows) {
  a_.SetNoticeDelay(seconds(25));
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  EXPECT_OK(Disable(on_b_));
  EXPECT_TRUE(
      world_.AdvanceUntil([&] { return !a_.HasImage(image_); }, minutes(2)));
  // So it can be mirrored again.
  EXPECT_OK(Enable(on_b_));
  EXPECT_OK(Promote(on_b_));
  EXPECT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(a_, image_); },
                                  minutes(5)));
}

// Of an image that was moved in its first seconds there may be no report yet.
TEST_F(DisableTest, RightAfterAMoveItWaitsUntilThePeerHasReported) {
  a_.SetNoticeDelay(seconds(25));
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  b_.RemoveStatuses(image_);
  deadline_ = seconds(5);
  EXPECT_THAT(Disable(on_b_), StatusIs(kUnavailable, HasSubstr("not noticed")));
  b_.RemoveStatuses(image_);
  deadline_ = minutes(5);
  EXPECT_OK(Disable(on_b_));
  EXPECT_TRUE(
      world_.AdvanceUntil([&] { return !a_.HasImage(image_); }, minutes(2)));
}

TEST(HasReportingPeerTest, OneWhoseDaemonHasCalledHere) {
  EXPECT_FALSE(HasReportingPeer({}));
  // One-way mirroring.
  EXPECT_FALSE(HasReportingPeer({{"uuid", "site-a", ""}}));
  EXPECT_TRUE(
      HasReportingPeer({{"1", "site-a", ""}, {"2", "site-c", "mirror"}}));
}

TEST_F(DisableTest, RightAfterAMoveItDoesNotWaitForASilentPeer) {
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  EXPECT_OK(Disable(on_b_));
  EXPECT_LT(took_, seconds(10));
}

TEST_F(DisableTest, RightAfterAMoveItWaitsForTheSettleTimeAtMost) {
  a_.SetNoticeDelay(minutes(60));
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  deadline_ = seconds(30);
  const std::string told = absl::StrCat(
      " (up to a minute), since ", In(seconds(0)),
      "; the call is answered at about ", In(deadline_), " if nothing changes");
  EXPECT_THAT(Disable(on_b_), StatusIs(kUnavailable, HasSubstr("not noticed")));
  EXPECT_THAT(clock_text_, AllOf(StartsWith("waiting: the peer, which was "),
                                 EndsWith(told)));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kEnabled);
  deadline_ = minutes(5);
  EXPECT_OK(Disable(on_b_));
}

TEST_F(DisableTest, SchedulesOfTheImageGo) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  ASSERT_THAT(a_.Schedules(), HasSubstr(image_));
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
}

TEST_F(DisableTest, RepeatChangesNothing) {
  ASSERT_OK(Disable(on_a_));
  world_.ClearCalls();
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableTest, SecondaryOfALivingPrimaryIsOkAndLeftAlone) {
  world_.ClearCalls();
  EXPECT_OK(Disable(on_b_));
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kEnabled);
}

TEST_F(DisableTest, SecondaryOfADeadPeerTakesForce) {
  LoseA();
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("force: \"true\"")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableTest, ForceMakesTheCopyOfADeadPeerAnOrdinaryImage) {
  LoseA();
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_OK(b_.Write(image_, 3));
}

TEST_F(DisableTest, SecondaryWhosePeerHasJustFallenSilentIsNotDecidedYet) {
  ASSERT_OK(Disable(on_b_));
  // The report of a peer that is neither dead nor primary for certain.
  b_.SetStatus(image_, a_.mirror_uuid(), MirrorStatusState::kStopped,
               "stopped by hand");
  a_.SetClusterUp(false);
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_b_, force_),
              StatusIs(kUnavailable, HasSubstr("not clear yet")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableTest, PeerThatDiedBeforeItsFirstReportIsNoOneWayMirroring) {
  a_.SetClusterUp(false);
  b_.RemoveStatuses(image_);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return !b_.Status(image_).empty(); },
                                  minutes(1)));
  world_.ClearCalls();
  deadline_ = minutes(3);
  EXPECT_THAT(Disable(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("no sign of life")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableTest, NobodyPrimaryTakesForce) {
  deadline_ = minutes(3);
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_THAT(Disable(on_b_), StatusIs(kFailedPrecondition,
                                       HasSubstr("neither site is primary")));
  EXPECT_THAT(Disable(on_a_), StatusIs(kFailedPrecondition,
                                       HasSubstr("neither site is primary")));
}

TEST_F(DisableTest, APeerThatWasJustPromotedIsAwaited) {
  deadline_ = minutes(3);
  for (const ParameterMap& parameters : {ParameterMap(), force_}) {
    a_.Demote(image_);
    world_.Advance(minutes(2));
    b_.Promote(image_, Force::kNo);  // its report says so later
    EXPECT_OK(Disable(on_a_, parameters));
    EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
    b_.Demote(image_);
    world_.Advance(minutes(2));
    a_.Promote(image_, Force::kNo);
    world_.Advance(minutes(2));
  }
}

TEST_F(DisableTest, ForceWorksWhereNobodyIsPrimary) {
  deadline_ = minutes(3);
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(DisableTest, DisableOfAnotherClientIsAwaited) {
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Schedule(seconds(2), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
  });
  world_.ClearCalls();
  EXPECT_OK(Disable(on_a_));
  EXPECT_GE(took_, seconds(2));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(VerbsTest, DisableLooksTwiceAtAnEnableThatMayBeUnderWay) {
  AddPlain();
  a_.InterruptEnable(image_);
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_GE(took_, on_a_.options().poll_interval);
}

TEST_F(DisableTest, InterruptedDisableIsCarriedOn) {
  a_.InterruptDisable(image_);
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_GE(took_, on_a_.options().look_gap);
  EXPECT_LT(took_, seconds(10));
  EXPECT_OK(Enable(on_a_));
}

TEST_F(DisableTest, DisableThatIsInterruptedBeforeItsSnapshotsGoIsCarriedOn) {
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(DisableTest, DisableThatLosesTheRaceToAnotherClientIsOkAllTheSame) {
  a_.InterruptDisable(image_);
  world_.SetCallHook([this](absl::string_view, absl::string_view call, bool) {
    if (call != "rbd_mirror_image_disable") return 0;
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
    return EINVAL;
  });
  EXPECT_OK(Disable(on_a_));
}

TEST_F(DisableTest, CopyThatRbdMirrorRemovesIsLeftToIt) {
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  a_.SetClusterUp(false);  // so that the simulated one does nothing
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_b_, force_),
              StatusIs(kUnavailable, HasSubstr("rbd-mirror of this site")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// rbd-mirror keeps the copy of a dead peer open, as if it copied still.
TEST_F(DisableTest,
       ForcedDisableOfADeadPeersCopyIsCarriedOnWithRbdMirrorAlive) {
  LoseA();
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  ASSERT_TRUE(b_.Status(image_).front().up);
  const SteadyTime begin = world_.Now();
  absl::Status status;
  for (int call = 0; call < 3; ++call) {
    status = Disable(on_b_, force_);
    if (status.ok()) break;
    EXPECT_THAT(status, StatusIs(kUnavailable, HasSubstr("rbd-mirror")));
  }
  EXPECT_OK(status);
  EXPECT_GE(world_.Now() - begin, on_b_.options().settle_time);
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kDisabled);
  EXPECT_OK(b_.Write(image_, 3));
}

TEST_F(DisableTest, InterruptedForcedDisableIsCarriedOnAtOnceWhenNobodyIsAtIt) {
  LoseA();
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  b_.SetStatus(image_, "", MirrorStatusState::kReplaying, "replaying");
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_LT(took_, seconds(15));
}

TEST_F(DisableTest, AnotherClientThatHasTheCopyOpenIsAwaited) {
  LoseA();
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  b_.AddWatcher(image_, "10.0.0.7:0/77", 4711);
  deadline_ = minutes(5);
  world_.ClearCalls();
  EXPECT_THAT(Disable(on_b_, force_),
              StatusIs(kUnavailable, HasSubstr("10.0.0.7:0/77")));
  EXPECT_EQ(world_.CountMutations(), 0);
  // It died, or is done.
  b_.RemoveWatcher(image_, 4711);
  EXPECT_OK(Disable(on_b_, force_));
}

TEST_F(DisableTest, InterruptedForcedDisableTakesForceAgain) {
  LoseA();
  b_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Advance(minutes(1));
  EXPECT_THAT(Disable(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("force: \"true\"")));
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kDisabled);
}

// Once before the lease, and once with it.
TEST_F(DisableTest, WhoIsAtAnInterruptedOneIsAskedOnceALook) {
  LoseA();
  b_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Advance(minutes(1));
  world_.ClearCalls();
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(world_.CountCalls("b", "rados_list_watchers"), 3);
}

TEST_F(VerbsTest, InterruptedEnableIsUndoneByDisable) {
  AddPlain();
  a_.InterruptEnable(image_);
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(DisableTest, OtherVerbsNameTheWayOutOfAnInterruptedDisable) {
  a_.InterruptDisable(image_);
  deadline_ = seconds(20);
  for (const absl::Status& status :
       {Enable(on_a_), Promote(on_a_), Promote(on_a_, Force::kYes),
        Demote(on_a_), Resync(on_a_).status(), Info(on_a_).status()}) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("disable it once more"));
  }
  EXPECT_THAT(Enable(on_a_), StatusIs(kUnavailable));
  // The operator would force, and that is refused as well.
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  EXPECT_OK(Disable(on_a_));
}

TEST_F(DisableTest, ManagerThatIsDownIsUnavailableAndNothingIsDisabled) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  a_.SetMgrUp(false);
  deadline_ = minutes(3);
  EXPECT_THAT(Disable(on_a_), StatusIs(kUnavailable, HasSubstr("manager")));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
}

TEST_F(DisableTest, PrimaryWithALostPeerIsSwitchedOff) {
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(DisableTest, MissingImageIsNotFound) {
  a_.RemoveImage(image_);
  EXPECT_THAT(Disable(on_a_), StatusIs(absl::StatusCode::kNotFound));
}

class DisableOneWayTest : public VerbsTest {
 protected:
  DisableOneWayTest() : VerbsTest(MirroredPairOptions{.one_way = true}) {
    AddMirrored();
  }
};

TEST_F(DisableOneWayTest, SecondaryThatReplaysIsLeftAlone) {
  world_.ClearCalls();
  EXPECT_OK(Disable(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DisableOneWayTest, PrimaryIsSwitchedOff) {
  EXPECT_OK(Disable(on_a_));
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kDisabled);
}

}  // namespace
}  // namespace addons::testing
