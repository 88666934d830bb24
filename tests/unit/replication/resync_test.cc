// Resync: it deletes a copy, so it is requested rarely, once, and only from a
// living primary.

#include "replication/resync.h"

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

MATCHER(IsReady, "is ready") {
  *result_listener << ToStatus(arg) << " " << (arg.ok() ? arg->message : "");
  return arg.ok() && arg->ready;
}
MATCHER(IsNotReady, "is OK, not ready") {
  *result_listener << ToStatus(arg) << " " << (arg.ok() ? arg->message : "");
  return arg.ok() && !arg->ready;
}

class ResyncTest : public VerbsTest {
 protected:
  ResyncTest() { AddMirrored(); }

  int Requests() {
    return world_.CountCalls("a", "rbd_mirror_image_resync") +
           world_.CountCalls("b", "rbd_mirror_image_resync");
  }
  /// a was primary while b was promoted by force, and has been demoted since.
  void SplitAndDemoteA() {
    a_.SetClusterUp(false);
    world_.Advance(minutes(3));
    b_.Promote(image_, Force::kYes);
    a_.SetClusterUp(true);
    world_.Advance(minutes(1));
    ASSERT_OK(Demote(on_a_));
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] {
          return a_.Status(image_).front().state == MirrorStatusState::kError;
        },
        minutes(2)));
    world_.ClearCalls();
  }
};

TEST_F(VerbsTest, ResyncIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kFailedPrecondition));
}

TEST_F(ResyncTest, PrimaryIsRefused) {
  EXPECT_THAT(Resync(on_a_, Force::kYes),
              StatusIs(kFailedPrecondition, HasSubstr("primary on this site")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, CopyThatFollowsALivingPrimaryIsReady) {
  world_.Advance(minutes(1));
  EXPECT_THAT(Resync(on_b_), IsReady());
  EXPECT_THAT(Resync(on_b_, Force::kYes), IsReady());
  EXPECT_EQ(Requests(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(ResyncTest, BothSitesDemotedAndInStepIsReady) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_b_, Force::kYes), IsReady());
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsReady());
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, CopyUnderWayIsNotReadyWithProgress) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  const auto answer = Resync(on_b_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("of 64 objects copied"));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, SplitBrainWithoutForceSaysThatForceIsNeeded) {
  SplitAndDemoteA();
  const auto answer = Resync(on_a_);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("force"));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, SplitBrainIsResyncedByForceFromALivingPrimary) {
  ASSERT_OK(a_.Write(image_, 66));
  SplitAndDemoteA();
  ASSERT_OK(b_.Write(image_, 77));
  b_.CreateMirrorSnapshot(image_);
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  EXPECT_EQ(Requests(), 1);
  for (int call = 0; call < 10; ++call) {
    world_.Advance(seconds(30));
    if (const auto answer = Resync(on_a_, Force::kYes);
        answer.ok() && answer->ready) {
      break;
    }
  }
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsReady());
  EXPECT_EQ(a_.Data(image_), 77U);
}

TEST_F(ResyncTest, NeverASecondRequestUntilTheCopyIsReady) {
  SplitAndDemoteA();
  a_.SetResyncAbsence(seconds(20));
  a_.SetCopySpeed(2);
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  bool ready = false;
  for (int call = 0; call < 60 && !ready; ++call) {
    world_.Advance(seconds(3));
    const auto answer = Resync(on_a_, Force::kYes);
    ASSERT_OK(answer);
    ready = answer->ready;
  }
  EXPECT_TRUE(ready);
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, AbsentImageIsNotReady) {
  SplitAndDemoteA();
  a_.SetResyncAbsence(minutes(5));
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  ASSERT_TRUE(
      world_.AdvanceUntil([&] { return !a_.HasImage(image_); }, minutes(2)));
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, IsNotReady());
  EXPECT_THAT(answer->message, HasSubstr("absent"));
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, ImageIdOfTheNewCopyIsWrittenIntoTheJournal) {
  SplitAndDemoteA();
  const std::string before = a_.ImageId(image_);
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  for (int call = 0; call < 20; ++call) {
    world_.Advance(seconds(30));
    const auto answer = Resync(on_a_, Force::kYes);
    if (answer.ok() && answer->ready) break;
  }
  ASSERT_NE(a_.ImageId(image_), before);
  EXPECT_EQ(Journal(a_)["csi.imageid"], a_.ImageId(image_));
  world_.ClearCalls();
  EXPECT_THAT(Resync(on_a_), IsReady());
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ResyncTest, DeadSourceIsUnavailableAndTheCopyStays) {
  SplitAndDemoteA();
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(Requests(), 0);
  EXPECT_TRUE(a_.HasImage(image_));
}

TEST_F(ResyncTest, SourceThatIsNotPrimaryIsUnavailableAndTheCopyStays) {
  a_.ForceSplitBrain(image_);
  world_.Advance(minutes(1));
  a_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.SetStatus(image_, b_.mirror_uuid(), MirrorStatusState::kUnknown,
               "remote image is not primary");
  const auto answer = Resync(on_a_, Force::kYes);
  EXPECT_THAT(answer, StatusIs(kUnavailable, HasSubstr("primary")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, PendingRequestWhoseSourceDiedIsUnavailable) {
  SplitAndDemoteA();
  a_.SetMirrorDaemon(DaemonState::kDown);  // the request stays
  ASSERT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  Resync(on_a_, Force::kYes).IgnoreError();
  world_.Advance(minutes(2));
  EXPECT_THAT(Resync(on_a_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, ErrorOfTheVeryImageThatWasDemotedHereIsResynced) {
  ASSERT_OK(Demote(on_a_));
  b_.Promote(image_, Force::kYes);
  world_.Advance(minutes(1));
  a_.SetStatus(image_, "", MirrorStatusState::kError, "failed to do something");
  world_.ClearCalls();
  EXPECT_THAT(Resync(on_a_, Force::kYes), IsNotReady());
  EXPECT_EQ(Requests(), 1);
}

TEST_F(ResyncTest, ErrorOfAnotherIncarnationIsReported) {
  world_.Advance(minutes(1));
  b_.SetStatus(image_, "", MirrorStatusState::kError, "failed to do something");
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("failed to do something")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, LocalDaemonThatIsDownIsUnavailable) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("rbd-mirror of this site")));
  EXPECT_EQ(Requests(), 0);
}

TEST_F(ResyncTest, DeadPrimaryIsNotReady) {
  a_.SetClusterUp(false);
  world_.Advance(seconds(30));
  Resync(on_b_).IgnoreError();
  world_.Advance(minutes(3));
  const auto answer = Resync(on_b_, Force::kYes);
  EXPECT_FALSE(answer.ok() && answer->ready);
  EXPECT_EQ(Requests(), 0);
}

}  // namespace
}  // namespace addons::testing
