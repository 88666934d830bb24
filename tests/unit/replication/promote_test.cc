// Every row of the promote table, with the peer as it may be found.

#include "replication/promote.h"

#include <cerrno>

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class PromoteTest : public VerbsTest {
 protected:
  PromoteTest() { AddMirrored(); }
};

TEST_F(VerbsTest, PromoteIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(
      Promote(on_a_),
      StatusIs(kFailedPrecondition, HasSubstr("replication is not enabled")));
}

TEST_F(VerbsTest, ForcedPromoteIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(Promote(on_a_, Force::kYes), StatusIs(kFailedPrecondition));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(PromoteTest, PrimaryIsPromotedByNoCall) {
  world_.ClearCalls();
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
}

TEST_F(PromoteTest, PlannedMoveKeepsTheLastWrite) {
  ASSERT_OK(a_.Write(image_, 7));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Data(image_), 7U);
}

TEST_F(PromoteTest, RepeatOfAPlannedMoveChangesNothing) {
  a_.Demote(image_);
  ASSERT_OK(Promote(on_b_));
  world_.ClearCalls();
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, DemotionThatComesDuringTheCallIsAwaited) {
  world_.Schedule(seconds(20), [this] {
    ASSERT_OK(a_.Write(image_, 8));
    a_.Demote(image_);
  });
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 8U);
  EXPECT_GE(took_, seconds(20));
}

TEST_F(PromoteTest, SlowCopyOfTheDemotionIsAwaited) {
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
  EXPECT_FALSE(b_.Torn(image_));
  EXPECT_GE(took_, seconds(16));
  EXPECT_THAT(progress_, Not(IsEmpty()));
}

TEST_F(PromoteTest, CopyThatTakesLongerThanTheCallSaysWhatIsMissing) {
  b_.SetCopySpeed(0.5);
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("of 64 objects copied")));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
}

TEST_F(PromoteTest, HalfADemotionIsNotPromotedWhileTheLocalDaemonIsDown) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kDown);
  world_.ClearCalls();
  for (int call = 0; call < 4; ++call) {
    EXPECT_THAT(Promote(on_b_),
                StatusIs(kUnavailable, HasSubstr("rbd-mirror of this site")));
  }
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, HalfADemotionIsNotPromotedWhileTheLocalDaemonIsFrozen) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kFrozen);
  world_.ClearCalls();
  for (int call = 0; call < 4; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, HalfADemotionOfADeadSiteTakesForce) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kDown);
  LoseA();
  // Without a local daemon the age of the peer's report shows only by watching.
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("no sign of life"),
                             HasSubstr("rbd-mirror of this site is down"))));
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(PromoteTest, PeerThatTookTheRoleBackStaysTheOnlyPrimary) {
  a_.Demote(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return Newest(b_).demoted() && Newest(b_).complete; }, seconds(9)));
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.Promote(image_, Force::kNo);
  world_.Advance(seconds(35));  // a has reported
  world_.ClearCalls();
  EXPECT_THAT(
      Promote(on_b_),
      StatusIs(kUnavailable, HasSubstr("reports its image as primary")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, PeerThatStaysPrimaryTakesForceOnlyAfterTheSettleTime) {
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("still reports its image as")));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("has been primary for"),
                             HasSubstr("site-a"), HasSubstr("forc"))));
  EXPECT_GE(took_, seconds(25));
  EXPECT_LE(took_, seconds(35));
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(PromoteTest, NewSnapshotsOfThePeerDoNotRestartItsClock) {
  for (int i = 1; i < 8; ++i) {
    world_.Schedule(seconds(13 * i),
                    [this] { a_.CreateMirrorSnapshot(image_); });
  }
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, PauseBetweenCallsRestartsTheClockOfThePeer) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  world_.Advance(seconds(70));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, MutatingVerbRestartsTheClockOfThePeer) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_OK(Demote(on_b_));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, DemotionThatIsBeingCopiedRestartsTheClockOfThePeer) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  b_.SetCopySpeed(0.5);
  a_.Demote(image_);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, SiteThatDiedLongAgoIsRecognisedWithinSeconds) {
  LoseA();
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("no sign of life"), HasSubstr("site-a"),
                             HasSubstr("forcing returns to"))));
  EXPECT_LE(took_, seconds(15));
}

TEST_F(PromoteTest, SiteThatHasJustDiedGetsTheSettleTime) {
  a_.SetClusterUp(false);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, DisasterIsOverAfterTheForcedCall) {
  LoseA();
  ASSERT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Data(image_), 1U);
}

TEST_F(PromoteTest, DemotionThatArrivedFromADeadSiteNeedsNoForce) {
  a_.Demote(image_);
  world_.Advance(seconds(40));
  LoseA();
  EXPECT_OK(Promote(on_b_));
}

TEST_F(PromoteTest, ForceIsNotUsedWhereThePlainPromotionLosesNothing) {
  ASSERT_OK(a_.Write(image_, 5));
  a_.Demote(image_);
  world_.Advance(seconds(5));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(b_.Data(image_), 5U);
  world_.Advance(minutes(2));
  // A forced promotion would have left an image that cannot follow again.
  EXPECT_TRUE(pair_.InSync(a_, image_));
}

TEST_F(PromoteTest, ForceFromALivingPrimaryPromotes) {
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
}

TEST_F(PromoteTest, ForceWaitsUntilTheCopyIsWhole) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetCopySpeed(4);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_FALSE(b_.Torn(image_));
  EXPECT_EQ(b_.Data(image_), a_.Data(image_));
}

TEST_F(VerbsTest, ForceWithoutOneWholeCopyIsUnavailable) {
  b_.SetCopySpeed(1);
  AddPlain();
  ASSERT_OK(a_.Write(image_, 1));
  a_.EnableMirroring(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return b_.HasImage(image_) && !b_.Snapshots(image_).empty(); },
      seconds(30)));
  pair_.AddJournal(b_, kUuid);
  LoseA();
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("nothing to promote")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

class OneWayTest : public VerbsTest {
 protected:
  OneWayTest() : VerbsTest(MirroredPairOptions{.one_way = true}) {
    AddMirrored();
  }
};

TEST_F(OneWayTest, LocalReplayStandsForALivingPeer) {
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
}

TEST_F(OneWayTest, PlannedMoveNeedsNoReportOfThePeer) {
  ASSERT_OK(a_.Write(image_, 3));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 3U);
}

TEST_F(OneWayTest, SilenceOfTheLocalDaemonTakesForce) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  b_.SetMirrorDaemon(DaemonState::kDown);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  absl::Status answer;
  for (int call = 0; call < 2 && !absl::IsFailedPrecondition(answer); ++call) {
    answer = Promote(on_b_);
  }
  EXPECT_THAT(answer, StatusIs(kFailedPrecondition));
}

class BusyPromoteTest : public PromoteTest,
                        public ::testing::WithParamInterface<int> {};

TEST_P(BusyPromoteTest, IsRepeatedUntilTheImageIsFree) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  Fail("rbd_mirror_image_promote", GetParam(), 2);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 3);
}
INSTANTIATE_TEST_SUITE_P(Errors, BusyPromoteTest,
                         ::testing::Values(EBUSY, EROFS, EAGAIN));

TEST_F(PromoteTest, PromotionThatStaysBusyIsUnavailable) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  Fail("rbd_mirror_image_promote", EBUSY, 1000000);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("has not let go")));
}

TEST_F(PromoteTest, PromotionThatSucceededInSpiteOfItsErrorIsOk) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  world_.SetCallHook(
      nullptr, [](absl::string_view, absl::string_view call, bool) {
        return call == "rbd_mirror_image_promote" ? ETIMEDOUT : 0;
      });
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 1);
}

TEST_F(PromoteTest, HalfDonePromotionIsCompleted) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  b_.LeaveNextSnapshotIncomplete(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_TRUE(Newest(b_).complete);
}

TEST_F(PromoteTest, HalfDonePromotionOfAnEarlierCallIsCompleted) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  b_.LeaveNextSnapshotIncomplete(image_);
  b_.Promote(image_, Force::kNo);
  ASSERT_FALSE(Newest(b_).complete);
  EXPECT_OK(Promote(on_b_));
  EXPECT_TRUE(Newest(b_).complete);
}

TEST_F(PromoteTest, SnapshotUnderWayOnAPrimaryIsLeftAlone) {
  a_.LeaveNextSnapshotIncomplete(image_);
  a_.CreateMirrorSnapshot(image_);
  // The schedule's next one is there before the second look.
  world_.Schedule(seconds(1), [this] { a_.CreateMirrorSnapshot(image_); });
  world_.ClearCalls();
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, ImageIdOfTheJournalIsCorrected) {
  b_.AddOmapValue(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kUuid),
                  "csi.imageid", "10old");
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(Journal(b_)["csi.imageid"], b_.ImageId(image_));
}

TEST_F(PromoteTest, ImageIdOfAPrimaryIsCorrectedToo) {
  a_.AddOmapValue(MirroredPair::kPool, "", absl::StrCat("csi.volume.", kUuid),
                  "csi.imageid", "10old");
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(Journal(a_)["csi.imageid"], a_.ImageId(image_));
}

TEST_F(PromoteTest, StaleResyncRequestGoesWithThePromotion) {
  LoseA();
  b_.SetImageMetadata(image_, absl::StrCat(".rbd_mirror.", b_.mirror_uuid()),
                      R"({"resync_requested": true})");
  EXPECT_OK(Promote(on_b_, Force::kYes));
  world_.ClearCalls();
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0) << "the request was still there";
}

TEST_F(PromoteTest, WaitingOpensNothingForWriting) {
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(PromoteTest, WaitEndsWhenAForcedVerbArrives) {
  script_ = [](TestOperationContext& context) {
    context.SupersedeAfter(seconds(5));
  };
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, MissingImageIsNotFoundOnlyBeforeTheFirstChange) {
  b_.RemoveImage(image_);
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kNotFound,
                                       HasSubstr("does not exist")));
}

TEST_F(PromoteTest, ClocksOfTheSitesDoNotMatter) {
  a_.SetClockSkew(std::chrono::hours(5));
  world_.Advance(minutes(1));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  ASSERT_OK(a_.Write(image_, 4));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 4U);
}

TEST_F(PromoteTest, SilenceThatAWritableOpenOfOursCausedIsNoDeath) {
  b_.SetNeedlessOpenBlocklists(true);
  a_.Demote(image_);
  world_.Advance(seconds(1));
  EXPECT_OK(Promote(on_b_));
  EXPECT_TRUE(b_.Info(image_).primary);
}

}  // namespace
}  // namespace addons::testing
