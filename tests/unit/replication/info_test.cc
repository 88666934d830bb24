// Replication info: read-only, from both sites' reports, and never silent about
// what is wrong.

#include "replication/info.h"

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InfoTest : public VerbsTest {
 protected:
  InfoTest() {
    AddMirrored();
    world_.Advance(minutes(1));
    world_.ClearCalls();
  }
  /// What b's rbd-mirror says on a.
  void PeerSays(MirrorStatusState state, const std::string& description) {
    a_.SetStatus(image_, b_.mirror_uuid(), state, description);
  }
  ReplicationInfo MustInfo(Daemon& daemon) {
    auto info = Info(daemon);
    EXPECT_OK(info);
    return info.ok() ? *info : ReplicationInfo();
  }
};

constexpr char kNumbers[] =
    R"({"last_snapshot_bytes":4096,"last_snapshot_sync_seconds":2,)"
    R"("local_snapshot_timestamp":1700000000,"replay_state":"idle"})";

TEST_F(VerbsTest, InfoIsRefusedWhileReplicationIsOff) {
  AddPlain();
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("enable it first")));
}

TEST_F(VerbsTest, InfoOfAnImageThatWasNeverCopiedIsNotFound) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  AddPlain();
  a_.EnableMirroring(image_);
  world_.Advance(minutes(1));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    HasSubstr("was ever copied")));
}

TEST_F(InfoTest, PrimaryWithALivingPeerIsHealthyWithNumbers) {
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kHealthy) << info.message;
  EXPECT_GT(info.last_sync_time.value_or(0), 0);
  EXPECT_TRUE(info.last_sync_bytes.has_value());
  EXPECT_TRUE(info.last_sync_seconds.has_value());
}

TEST_F(InfoTest, AskingChangesNothing) {
  EXPECT_OK(Info(on_a_));
  EXPECT_OK(Info(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
}

TEST_F(InfoTest, NumbersAreThePeers) {
  PeerSays(MirrorStatusState::kReplaying,
           absl::StrCat("replaying, ", kNumbers));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.last_sync_time, 1700000000);
  EXPECT_EQ(info.last_sync_bytes, 4096);
  EXPECT_EQ(info.last_sync_seconds, 2);
}

TEST_F(InfoTest, UnknownNumbersAreAbsentNotZero) {
  PeerSays(MirrorStatusState::kReplaying,
           R"(replaying, {"local_snapshot_timestamp":1700000000})");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.last_sync_time, 1700000000);
  EXPECT_EQ(info.last_sync_bytes, std::nullopt);
  EXPECT_EQ(info.last_sync_seconds, std::nullopt);
}

TEST_F(InfoTest, LastGoodNumbersAreGivenWithTheirAge) {
  PeerSays(MirrorStatusState::kReplaying,
           absl::StrCat("replaying, ", kNumbers));
  MustInfo(on_a_);
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  world_.Advance(seconds(12));
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.last_sync_time, 1700000000);
  EXPECT_THAT(info.message, HasSubstr("from 12 s ago"));
}

TEST_F(InfoTest, UnparsableReportIsDegradedAndSaysSo) {
  MustInfo(on_a_);
  PeerSays(MirrorStatusState::kReplaying, "replaying, {broken");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info.message, HasSubstr("cannot be read"));
}

TEST_F(InfoTest, NeverSyncedUnreachableAndUnparsableAreDifferentMessages) {
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  const auto never = Info(on_a_);
  EXPECT_THAT(never, StatusIs(absl::StatusCode::kNotFound));
  PeerSays(MirrorStatusState::kReplaying, "replaying, 17");
  const auto unparsable = Info(on_a_);
  EXPECT_THAT(std::string(unparsable.status().message()),
              HasSubstr("cannot be read"));
  EXPECT_NE(never.status().message(), unparsable.status().message());
}

TEST_F(InfoTest, DeadPeerIsUnreachableWithTheLastNumbers) {
  MustInfo(on_a_);
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info.message,
              AllOf(HasSubstr("unreachable"), HasSubstr("site-b")));
  EXPECT_TRUE(info.last_sync_time.has_value());
}

TEST_F(InfoTest, PeerThatIsPrimaryAsWellIsASplitBrain) {
  PeerSays(MirrorStatusState::kStopped, "local image is primary");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("split brain"));
}

TEST_F(InfoTest, PeerInErrorIsAnError) {
  PeerSays(MirrorStatusState::kError, "failed to open the image");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("failed to open the image"));
}

TEST_F(InfoTest, SplitBrainReportOfThePeerIsAnError) {
  PeerSays(MirrorStatusState::kError, "split-brain detected");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("split brain"));
}

TEST_F(InfoTest, SeveralFindingsAreAllToldAndTheWorstCounts) {
  MustInfo(on_a_);
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  PeerSays(MirrorStatusState::kError, "failed to open the image");
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message,
              AllOf(HasSubstr("rbd-mirror of this site is down"),
                    HasSubstr("failed to open the image"), HasSubstr("; ")));
}

TEST_F(InfoTest, LocalDaemonThatIsDownIsDegraded) {
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info.message, HasSubstr("rbd-mirror of this site is down"));
}

TEST_F(InfoTest, SecondaryIsDegradedWithItsOwnNumbers) {
  const ReplicationInfo info = MustInfo(on_b_);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info.message,
              HasSubstr("this site is secondary, the peer is primary"));
  EXPECT_TRUE(info.last_sync_time.has_value());
}

TEST_F(InfoTest, SecondaryThatIsBeingCopiedTellsHowFarItIs) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  EXPECT_THAT(MustInfo(on_b_).message, HasSubstr("of 64 objects copied"));
}

TEST_F(InfoTest, SplitBrainOnASecondaryIsAnError) {
  a_.ForceSplitBrain(image_);
  world_.Advance(minutes(1));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("split brain"));
}

TEST_F(InfoTest, SecondaryWithNobodyPrimarySaysSo) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  EXPECT_THAT(MustInfo(on_b_).message, HasSubstr("no site is known"));
}

TEST_F(InfoTest, PendingResyncIsTold) {
  b_.SetImageMetadata(image_, absl::StrCat(".rbd_mirror.", b_.mirror_uuid()),
                      R"({"resync_requested": true})");
  EXPECT_THAT(MustInfo(on_b_).message, HasSubstr("a resync is requested"));
}

TEST_F(InfoTest, PendingResyncWithoutItsSourceIsTold) {
  MustInfo(on_b_);
  a_.SetClusterUp(false);
  world_.Advance(minutes(2));
  b_.SetImageMetadata(image_, absl::StrCat(".rbd_mirror.", b_.mirror_uuid()),
                      R"({"resync_requested": true})");
  EXPECT_THAT(MustInfo(on_b_).message, HasSubstr("the peer is unreachable"));
}

TEST_F(InfoTest, MissingImageIsNotFound) {
  a_.RemoveImage(image_);
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    HasSubstr("does not exist")));
}

TEST_F(InfoTest, ReportFromBeforeAPlannedMoveIsNoSplitBrain) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  ASSERT_OK(Promote(on_b_));
  const auto info = Info(on_b_);
  // Nothing was copied back yet, and nobody reported numbers.
  EXPECT_THAT(info, StatusIs(absl::StatusCode::kNotFound,
                             HasSubstr("since this site became primary")));
  EXPECT_TRUE(world_.AdvanceUntil(
      [&] {
        const auto later = Info(on_b_);
        return later.ok() && later->health == ReplicationHealth::kHealthy;
      },
      minutes(2)));
}

TEST_F(InfoTest, PeerThatStaysPrimaryAfterAForcedPromotionIsASplitBrain) {
  ASSERT_OK(Promote(on_b_, Force::kYes));
  world_.Advance(minutes(1));
  b_.CreateMirrorSnapshot(image_);
  const ReplicationInfo info = MustInfo(on_b_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("split brain"));
}

class InfoOneWayTest : public VerbsTest {
 protected:
  InfoOneWayTest() : VerbsTest(MirroredPairOptions{.one_way = true}) {
    AddMirrored();
    world_.Advance(minutes(1));
  }
};

TEST_F(InfoOneWayTest, PrimaryNeedsNoDaemonOfItsOwn) {
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
}

}  // namespace
}  // namespace addons::testing
