// Disabling: on the primary, on a secondary with a living and a dead peer.

#include "replication/disable.h"

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

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

TEST_F(DisableTest, SchedulesOfTheImageGo) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  ASSERT_THAT(a_.Schedules(), HasSubstr(image_));
  EXPECT_OK(Disable(on_a_));
  EXPECT_THAT(a_.Schedules(), ::testing::Not(HasSubstr(image_)));
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
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_THAT(Disable(on_b_), StatusIs(kFailedPrecondition,
                                       HasSubstr("neither site is primary")));
  EXPECT_THAT(Disable(on_a_), StatusIs(kFailedPrecondition,
                                       HasSubstr("neither site is primary")));
}

TEST_F(DisableTest, ForceWorksWhereNobodyIsPrimary) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_OK(Disable(on_b_, force_));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kDisabled);
}

TEST_F(DisableTest, DisablingIsAwaited) {
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Schedule(seconds(10), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
  });
  EXPECT_OK(Disable(on_a_));
  EXPECT_GE(took_, seconds(10));
}

TEST_F(DisableTest, DisablingThatDoesNotEndIsUnavailable) {
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  EXPECT_THAT(Disable(on_a_),
              StatusIs(kUnavailable, HasSubstr("still being disabled")));
}

TEST_F(DisableTest, ManagerThatIsDownIsUnavailableAndNothingIsDisabled) {
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
