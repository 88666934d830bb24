// Replication info: read-only, from both sites' reports, and never silent about
// what is wrong.

#include "replication/steps/info.h"

#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "ceph/mirror.h"
#include "replication/steps/upkeep.h"
#include "tests/testing/gate.h"
#include "tests/testing/handles.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class InfoTest : public VerbsTest {
 protected:
  InfoTest() {
    AddMirrored();
    EXPECT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
    world_.Advance(minutes(1));
    world_.ClearCalls();
  }
  /// What b's rbd-mirror says on a.
  void PeerSays(MirrorStatusState state, const std::string& description) {
    a_.SetStatus(image_, b_.mirror_uuid(), state, description);
  }
  /// What stands on `site` of the reports of `peer`.
  SiteStatus PeerStatus(FakeSite& site, FakeSite& peer) {
    for (const SiteStatus& status : site.Status(image_)) {
      if (status.mirror_uuid == peer.mirror_uuid()) return status;
    }
    return SiteStatus();
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

TEST_F(VerbsTest, AVolumeWithoutJournalSaysWhatThePoolHasOfIt) {
  const std::string journal = std::string("csi.volume.") + kUuid;
  AddPlain();
  const auto not_found = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kNotFound, HasSubstr(text));
  };
  EXPECT_THAT(Promote(on_b_, Force::kNo), not_found("nothing of it was ever"));
  b_.SetOmap(MirroredPair::kPool, "", "rbd_trash",
             {{"id_4711", std::string("\0", 1) + image_ + "and more"}});
  EXPECT_THAT(Promote(on_b_, Force::kNo), not_found("is in the trash"));
  b_.AddImage(MirroredPair::kPool, "", image_);
  EXPECT_THAT(Promote(on_b_, Force::kNo), not_found("is there: restore"));
  a_.SetOmap(MirroredPair::kPool, "", journal, {});
  EXPECT_THAT(Promote(on_a_, Force::kNo), not_found("is there: restore"));
}

TEST_F(VerbsTest, AMirroredVolumeWithoutJournalIsToBeRestored) {
  AddMirrored();
  b_.SetOmap(MirroredPair::kPool, "", std::string("csi.volume.") + kUuid, {});
  EXPECT_THAT(Promote(on_b_, Force::kNo),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("is there, and mirrored: restore")));
}

TEST_F(VerbsTest, InfoOfAFreshEnableIsAskedForAgainSoonAndThenNotFound) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  AddPlain();
  ASSERT_OK(Enable(on_a_));
  // The operator asks right after the promotion, and then not for a long time.
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                    HasSubstr("no peer has reported")));
  world_.Advance(minutes(1));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    AllOf(HasSubstr("first copy"),
                                          HasSubstr("not complete yet"),
                                          HasSubstr("no peer has reported"))));
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

TEST_F(InfoTest, AnOrdinaryImageIsNotOpened) {
  EXPECT_EQ(MustInfo(on_a_).health, ReplicationHealth::kHealthy);
  EXPECT_THAT(MustInfo(on_b_).message, HasSubstr("this site is secondary"));
  for (const char* site : {"a", "b"}) {
    EXPECT_EQ(world_.CountCalls(site, "rbd_open_read_only"), 0) << site;
  }
}

TEST_F(InfoTest, WhatCannotBeReadWithoutOpeningItIsReadFromTheOpenImage) {
  const ReplicationInfo info = MustInfo(on_a_);
  // The last is the class's method, which a user may lack.
  for (const char* call : {"rados_read_op_omap_get_vals_by_keys2",
                           "rbd.mirror_image_status_get"}) {
    world_.ClearCalls();
    Fail(call, EPERM, 1);
    const ReplicationInfo opened = MustInfo(on_a_);
    EXPECT_EQ(opened.health, info.health) << opened.message;
    EXPECT_EQ(opened.message, info.message);
    EXPECT_EQ(opened.last_sync_time, info.last_sync_time);
    EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 1) << call;
  }
  // What passes is not asked for again by other means.
  world_.ClearCalls();
  Fail("rbd.mirror_image_status_get", ETIMEDOUT, 1);
  EXPECT_THAT(Info(on_a_), Not(IsOk()));
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 0);
}

TEST_F(VerbsTest, InfoOpensWhatIsNoOrdinaryImage) {
  AddPlain();
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  world_.ClearCalls();
  (void)Info(on_a_);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 1);
}

// Ceph keeps the report of a site that is no peer any more.
TEST_F(InfoTest, ASiteThatIsNoPeerAnyMoreIsLeftOut) {
  for (FakeSite* site : {&a_, &b_}) {
    site->SetStatus(image_, "the-lost-site", MirrorStatusState::kStopped,
                    "local image is primary");
  }
  world_.Advance(minutes(5));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kHealthy) << info.message;
  // Nor is its old word one that another site is primary.
  ASSERT_OK(Demote(on_a_));
  world_.Advance(seconds(30));
  EXPECT_OK(Promote(on_b_, Force::kNo));
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

TEST_F(InfoTest, PeerThatTellsNoNumbersAfterARestartIsNoFirstCopy) {
  // The newest copied snapshot lists its peer still, like one never copied.
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  Daemon restarted(world_, pair_, a_);
  const ReplicationInfo info = MustInfo(restarted);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info.message, HasSubstr("not reported yet"));
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
              StartsWith("this site is secondary, the peer is primary; in step "
                         "as of 20"));
  EXPECT_TRUE(info.last_sync_time.has_value());
}

// Whoever reads it would start what comes back by itself.
TEST_F(InfoTest, AMirrorThatThisDaemonHasSentAwayIsNotDown) {
  ASSERT_OK(Promote(on_b_, Force::kYes));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  EXPECT_THAT(MustInfo(on_b_).message,
              AllOf(HasSubstr("was sent away by this daemon at "),
                    HasSubstr("it is back within a minute"),
                    Not(HasSubstr("start it before a failback"))));
  // Another replica, or one that starts later, knows it as well.
  Daemon restarted(world_, pair_, b_);
  EXPECT_THAT(MustInfo(restarted).message,
              HasSubstr("was sent away by this daemon at "));
  // One that was back, and has ended since, is down.
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(minutes(3));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  EXPECT_THAT(MustInfo(on_b_).message,
              AllOf(HasSubstr("start it before a failback"),
                    Not(HasSubstr("sent away"))));
}

TEST_F(InfoTest, SecondaryThatIsBeingCopiedTellsHowFarItIs) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  EXPECT_THAT(MustInfo(on_b_).message, AllOf(HasSubstr("of 64 objects copied"),
                                             Not(HasSubstr("in step as of"))));
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

TEST_F(InfoTest, MissingImageIsAnErrorThatTheOperatorShows) {
  a_.RemoveImage(image_);
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("does not exist"));
  EXPECT_FALSE(info.last_sync_time.has_value());
}

TEST_F(InfoTest, ReportFromBeforeAPlannedMoveIsNoSplitBrain) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  ASSERT_OK(Promote(on_b_, Force::kNo, {{"schedulingInterval", "1h"}}));
  // Nobody has reported since; the operator must ask again soon.
  EXPECT_THAT(Info(on_b_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("since this site became primary")));
  EXPECT_TRUE(world_.AdvanceUntil(
      [&] {
        const auto later = Info(on_b_);
        return later.ok() && later->health == ReplicationHealth::kHealthy;
      },
      minutes(2)));
}

TEST_F(InfoTest, OldTextThatIsWrittenOnceMoreAfterAMoveIsNoSplitBrain) {
  // Its rbd-mirror writes its reports when it is about to look again.
  const auto says = [this] { return PeerStatus(b_, a_).description; };
  const int64_t before = PeerStatus(b_, a_).last_update;
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return PeerStatus(b_, a_).last_update > before; }, minutes(1)));
  world_.Advance(seconds(20));
  a_.Demote(image_);
  world_.Advance(seconds(5));
  ASSERT_OK(Promote(on_b_, Force::kNo, {{"schedulingInterval", "1h"}}));
  const int64_t promoted =
      std::chrono::system_clock::to_time_t(world_.WallNow());
  bool rewritten = false;
  for (int second = 0; second < 120; ++second) {
    world_.Advance(seconds(1));
    const auto info = Info(on_b_);
    rewritten |= says() == "local image is primary" &&
                 PeerStatus(b_, a_).last_update > promoted;
    if (!info.ok()) {
      // The operator asks again soon, until it is known.
      EXPECT_THAT(info, StatusIs(absl::StatusCode::kUnavailable));
      continue;
    }
    EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
  }
  EXPECT_TRUE(rewritten);
  EXPECT_EQ(MustInfo(on_b_).health, ReplicationHealth::kHealthy);
}

TEST_F(InfoTest, PeerThatNeverReportsAfterAMoveIsDegradedInTheEnd) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  ASSERT_OK(Promote(on_b_, Force::kNo, {{"schedulingInterval", "1h"}}));
  a_.SetMirrorDaemon(DaemonState::kFrozen);
  EXPECT_THAT(Info(on_b_), StatusIs(absl::StatusCode::kUnavailable));
  world_.Advance(minutes(2));
  EXPECT_EQ(MustInfo(on_b_).health, ReplicationHealth::kDegraded);
}

TEST_F(InfoTest, PeerThatStaysPrimaryAfterAForcedPromotionIsASplitBrain) {
  ASSERT_OK(Promote(on_b_, Force::kYes));
  // That has ended the copying of both; they come back and report.
  a_.ReconnectMirrorDaemon();
  b_.ReconnectMirrorDaemon();
  world_.Advance(seconds(45));
  b_.CreateMirrorSnapshot(image_);
  // It may still be what it said before a move.
  EXPECT_THAT(Info(on_b_),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("may be a report from before a move")));
  world_.Advance(seconds(75));
  const ReplicationInfo info = MustInfo(on_b_);
  EXPECT_EQ(info.health, ReplicationHealth::kError);
  EXPECT_THAT(info.message, HasSubstr("split brain"));
}

TEST_F(InfoTest, NumbersOfAnEarlierTermAsPrimaryDoNotCount) {
  // One daemon has seen it all: a, then b, then a again.
  ASSERT_EQ(MustInfo(on_a_).health, ReplicationHealth::kHealthy);
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(minutes(1));
  ASSERT_OK(Demote(on_b_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                    HasSubstr("has not reported since")));
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        const auto later = Info(on_a_);
        return later.ok() && later->health == ReplicationHealth::kHealthy;
      },
      minutes(2)));
  // One that says less now does not bring back what it said in between.
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  EXPECT_THAT(MustInfo(on_a_).message, HasSubstr("s ago"));
}

TEST_F(InfoTest, KeptNumbersOfAnEarlierTermDoNotComeBack) {
  ASSERT_TRUE(MustInfo(on_a_).last_sync_time.has_value());
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(seconds(2));
  PeerSays(MirrorStatusState::kStartingReplay, "starting replay");
  Info(on_a_).IgnoreError();
  world_.Advance(seconds(2));
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.health, ReplicationHealth::kDegraded) << info.message;
  EXPECT_FALSE(info.last_sync_time.has_value());
}

TEST_F(InfoTest, PromotionOfTheOwnDemotionIsAskedForAgainSoon) {
  // What the peer said last is from before all this.
  PeerSays(MirrorStatusState::kReplaying,
           absl::StrCat("replaying, ", kNumbers));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  world_.Advance(seconds(2));
  a_.Demote(image_);
  world_.Advance(seconds(2));
  a_.Promote(image_, Force::kNo);
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                    HasSubstr("has not reported since")));
}

// --- the first copy

class FirstCopyTest : public VerbsTest {
 protected:
  FirstCopyTest() {
    AddPlain();
    EXPECT_OK(Enable(on_a_));
  }
  void AwaitCopy() {
    ASSERT_TRUE(world_.AdvanceUntil(
        [this] { return b_.HasImage(image_) && pair_.InSync(b_, image_); },
        minutes(3)));
    world_.Advance(minutes(1));
  }
  void PeerSays(const std::string& description) {
    a_.SetStatus(image_, b_.mirror_uuid(), MirrorStatusState::kReplaying,
                 description);
  }
  std::vector<VolumeHandle> KeepUp() {
    const auto info = Info(on_a_);
    EXPECT_OK(info);
    if (!info.ok()) return {};
    EXPECT_OK(Run([&](OperationContext& context) {
      return addons::KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
    }));
    return info->upkeep;
  }
};

TEST_F(FirstCopyTest, UntilItIsWholeInfoIsNotFoundAndNothingElseIs) {
  world_.Advance(seconds(2));
  constexpr char kSyncing[] =
      R"(replaying, {"replay_state":"syncing","syncing_percent":3})";
  PeerSays(kSyncing);
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    AllOf(HasSubstr("not complete yet"),
                                          HasSubstr("site-b' is replaying"))));
  PeerSays("replaying, 17");
  const auto unread = Info(on_a_);
  ASSERT_OK(unread);
  EXPECT_THAT(unread->message, HasSubstr("cannot be read"));
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  PeerSays(kSyncing);
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  const auto unreachable = Info(on_a_);
  ASSERT_OK(unreachable);
  EXPECT_THAT(unreachable->message, HasSubstr("unreachable"));
}

TEST_F(FirstCopyTest, ThatItIsWholeIsRememberedWithTheImage) {
  AwaitCopy();
  EXPECT_EQ(KeepUp(), Handles({id_}));
  EXPECT_EQ(KeepUp(), std::vector<VolumeHandle>());
  PeerSays("starting replay");
  Daemon restarted(world_, pair_, a_);
  const auto info = Info(restarted);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(info->message, HasSubstr("not reported yet"));
}

TEST_F(FirstCopyTest, DeadPeerWhoseReportIsGoneIsNoFirstCopy) {
  AwaitCopy();
  KeepUp();
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.RemoveStatuses(image_);
  Daemon restarted(world_, pair_, a_);
  Info(restarted).IgnoreError();
  world_.Advance(minutes(2));
  const auto info = Info(restarted);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kDegraded);
}

TEST_F(FirstCopyTest, ANewEnablingAwaitsItsOwnFirstCopy) {
  AwaitCopy();
  KeepUp();
  ASSERT_OK(Disable(on_a_));
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Enable(on_a_));
  Info(on_a_).IgnoreError();
  world_.Advance(minutes(1));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound));
}

class JournalFirstCopyTest : public VerbsTest {
 protected:
  JournalFirstCopyTest() {
    world_.ReplayJournals();
    AddPlain();
    EXPECT_OK(a_.Write(image_, 1));
    b_.SetCopySpeed(0.1);
    EXPECT_OK(Enable(on_a_, {{"mirroringMode", "journal"}}));
  }
  bool PeerIs(MirrorStatusState state) {
    for (const SiteStatus& status : a_.Status(image_)) {
      if (status.mirror_uuid == b_.mirror_uuid()) return status.state == state;
    }
    return false;
  }
  void AwaitWholeCopy() {
    ASSERT_TRUE(world_.AdvanceUntil(
        [this] { return b_.HasImage(image_) && b_.Data(image_) == 1; },
        minutes(2)));
    world_.Advance(seconds(45));
  }
};

TEST_F(JournalFirstCopyTest, UntilItIsWholeInfoIsNotFound) {
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] { return PeerIs(MirrorStatusState::kSyncing); }, minutes(1)));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    AllOf(HasSubstr("not complete yet"),
                                          HasSubstr("copies all of it"))));
  // Not a matter of time either.
  world_.Advance(minutes(3));
  ASSERT_TRUE(PeerIs(MirrorStatusState::kSyncing));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound));
  pair_.AddJournal(b_, kUuid);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("first copy of the image to this site")));

  b_.SetCopySpeed(1000);
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] { return PeerIs(MirrorStatusState::kReplaying); }, minutes(2)));
  // It is about to, and has not read an entry: no force would be right yet.
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(absl::StatusCode::kUnavailable));
  AwaitWholeCopy();
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
  LoseA();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(b_.Data(image_), 1U);
}

TEST_F(JournalFirstCopyTest, BeforeThePeerHasTheImageInfoIsNotFound) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  (void)Info(on_a_);
  world_.Advance(minutes(2));
  EXPECT_THAT(Info(on_a_), StatusIs(absl::StatusCode::kNotFound,
                                    HasSubstr("not complete yet")));
}

TEST_F(JournalFirstCopyTest, ThatItIsWholeIsRememberedWithTheImage) {
  b_.SetCopySpeed(1000);
  AwaitWholeCopy();
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->upkeep, Handles({id_}));
  ASSERT_OK(Run([&](OperationContext& context) {
    return addons::KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
  }));
  EXPECT_THAT(Info(on_a_)->upkeep, Handles({}));
  // A copy that is made anew is none of a fresh enabling.
  a_.SetStatus(image_, b_.mirror_uuid(), MirrorStatusState::kSyncing,
               "bootstrapping, IMAGE_SYNC/COPY_IMAGE 32%");
  const auto anew = Info(on_a_);
  ASSERT_OK(anew);
  EXPECT_EQ(anew->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(anew->message, AllOf(HasSubstr("copies all of it"),
                                   HasSubstr("COPY_IMAGE 32%")));
}

// --- since when this site is primary

TEST_F(InfoTest, SinceWhenThisSiteIsPrimaryIsNotedByTheUpkeep) {
  const ReplicationInfo info = MustInfo(on_a_);
  EXPECT_EQ(info.upkeep, Handles({id_}));
  ASSERT_OK(Run([&](OperationContext& context) {
    return addons::KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
  }));
  EXPECT_TRUE(MustInfo(on_a_).upkeep.empty());
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(minutes(1));
  EXPECT_EQ(MustInfo(on_a_).upkeep, Handles({id_}));
}

// --- HEALTHY means protected

class ProtectionTest : public VerbsTest {
 protected:
  ProtectionTest() {
    AddMirrored();
    world_.Advance(minutes(1));
  }
  void PromoteEvery(const std::string& interval) {
    ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", interval}}));
  }
  void Command(const std::string& json) {
    ASSERT_OK(pair_.cluster(a_)->MgrCommand(json));
  }
  void ExpectHealth(ReplicationHealth health, const std::string& text) {
    const auto info = Info(on_a_);
    ASSERT_OK(info);
    EXPECT_EQ(info->health, health) << info->message;
    EXPECT_THAT(info->message, HasSubstr(text));
  }
  absl::Status KeepUp() {
    return Run([&](OperationContext& context) {
      return addons::KeepUp(context, on_a_.environment(), {on_a_.Target(id_)});
    });
  }
  static constexpr auto kDegraded = ReplicationHealth::kDegraded;
  static constexpr auto kHealthy = ReplicationHealth::kHealthy;
  static constexpr char kManager[] = "rados_mgr_command";
};

TEST_F(ProtectionTest, PrimaryWithoutAScheduleIsDegraded) {
  ASSERT_OK(Promote(on_a_));
  ExpectHealth(kDegraded, "no mirror snapshot schedule applies");
  PromoteEvery("5m");
  ExpectHealth(kHealthy, "");
}

TEST_F(ProtectionTest, ScheduleOfThePoolIsAScheduleToo) {
  Command(R"({"prefix":"rbd mirror snapshot schedule add",)"
          R"("level_spec":"replicapool/","interval":"7m"})");
  ExpectHealth(kHealthy, "");
}

TEST_F(ProtectionTest, ScheduleThatWasTakenAwayIsDegradedAndPutBack) {
  PromoteEvery("5m");
  Command(R"({"prefix":"rbd mirror snapshot schedule remove",)"
          R"("level_spec":"replicapool/)" +
          image_ + R"("})");
  ExpectHealth(kDegraded, "(every 5m) is not set");
  EXPECT_EQ(Info(on_a_)->upkeep, Handles({id_}));
  EXPECT_OK(KeepUp());
  ExpectHealth(kHealthy, "");
  EXPECT_TRUE(Info(on_a_)->upkeep.empty());
}

TEST_F(ProtectionTest, AnotherScheduleThanTheWantedOneIsDegraded) {
  PromoteEvery("5m");
  Command(R"({"prefix":"rbd mirror snapshot schedule remove",)"
          R"("level_spec":"replicapool/)" +
          image_ + R"("})");
  Command(R"({"prefix":"rbd mirror snapshot schedule add",)"
          R"("interval":"1d","level_spec":"replicapool/)" +
          image_ + R"("})");
  ExpectHealth(kDegraded, "another one (every 1d)");
}

TEST_F(ProtectionTest, CopyOlderThanTwoIntervalsIsDegraded) {
  PromoteEvery("5m");
  // No scheduled snapshot is ever taken here.
  world_.Advance(minutes(7));
  ExpectHealth(kHealthy, "");
  world_.Advance(minutes(5));
  ExpectHealth(kDegraded, "older than two intervals (every 5m)");
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  ExpectHealth(kHealthy, "");
}

TEST_F(ProtectionTest, ManagerOutageDoesNotKeepAPrimaryFromOk) {
  a_.SetMgrUp(false);
  PromoteEvery("5m");
  EXPECT_LT(took_, minutes(1));
  ExpectHealth(kDegraded, "the manager does not tell");
  EXPECT_EQ(Info(on_a_)->upkeep, Handles({id_}));
  EXPECT_THAT(KeepUp(), StatusIs(absl::StatusCode::kUnavailable));
  a_.SetMgrUp(true);
  ExpectHealth(kDegraded, "(every 5m) is not set");
  // The daemon was restarted meanwhile: what is wanted stands in the image.
  Daemon another(world_, pair_, a_);
  EXPECT_EQ(Info(another)->upkeep, Handles({id_}));
  EXPECT_OK(KeepUp());
  ExpectHealth(kHealthy, "");
  EXPECT_THAT(a_.Schedules(), HasSubstr(image_));
}

TEST_F(ProtectionTest, ScheduleIsWorthNothingWhileTheManagerIsAway) {
  PromoteEvery("5m");
  for (const bool module : {false, true}) {
    ExpectHealth(kHealthy, "");
    if (module) {
      a_.SetMgrHasModule(false);
    } else {
      a_.SetMgrUp(false);
    }
    // What it has answered counts for a while.
    ExpectHealth(kHealthy, "");
    world_.Advance(ManagerPresence::kCounts);
    ExpectHealth(kDegraded, "the manager does not tell");
    a_.SetMgrUp(true);
    a_.SetMgrHasModule(true);
    // That it did not answer does not.
    ExpectHealth(kHealthy, "");
  }
}

TEST_F(ProtectionTest, TheManagerIsAskedOnceForAllCallsOfAFewSeconds) {
  PromoteEvery("5m");
  world_.ClearCalls();
  for (int i = 0; i < 50; ++i) ExpectHealth(kHealthy, "");
  EXPECT_EQ(world_.CountCalls("a", kManager), 1);
  world_.Advance(ManagerPresence::kCounts - std::chrono::milliseconds(1));
  ExpectHealth(kHealthy, "");
  EXPECT_EQ(world_.CountCalls("a", kManager), 1);
  world_.Advance(std::chrono::milliseconds(1));
  for (int i = 0; i < 50; ++i) ExpectHealth(kHealthy, "");
  EXPECT_EQ(world_.CountCalls("a", kManager), 2);
}

TEST_F(ProtectionTest, CallsThatComeWhileTheManagerIsAskedWaitForItsAnswer) {
  PromoteEvery("5m");
  Gate gate;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == kManager) gate.Pass();
    return 0;
  });
  world_.ClearCalls();
  std::vector<std::thread> calls;
  for (int i = 0; i < 2; ++i) {
    calls.emplace_back([this] { ExpectHealth(kHealthy, ""); });
    gate.AwaitArrivals(1);
  }
  gate.Open();
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(world_.CountCalls("a", kManager), 1);
}

TEST_F(ProtectionTest, WhatTheManagerListsForOneTellsTheOthersThatItIsThere) {
  PromoteEvery("5m");
  constexpr char kOther[] = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  const std::string ours = id_;
  id_ = pair_.AddMirroredVolume(a_, kOther);
  world_.Advance(minutes(1));
  // It has no schedule of its own: the manager lists those that it inherits.
  ExpectHealth(kDegraded, "no mirror snapshot schedule applies");
  id_ = ours;
  world_.ClearCalls();
  ExpectHealth(kHealthy, "");
  EXPECT_EQ(world_.CountCalls("a", kManager), 0);
}

TEST_F(ProtectionTest, UserMayBeKeptFromAllButSchedules) {
  PromoteEvery("5m");
  bool refused = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mgr_command" && !std::exchange(refused, true) ? EACCES
                                                                        : 0;
  });
  ExpectHealth(kHealthy, "");
  EXPECT_TRUE(refused);
}

TEST_F(ProtectionTest, UserMayBeKeptFromTheManager) {
  PromoteEvery("5m");
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_mgr_command" ? EACCES : 0;
  });
  ExpectHealth(kHealthy, "this user may not ask it");
  // Each call asks: a user that was given more is told at once.
  world_.SetCallHook(nullptr);
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, Not(HasSubstr("this user may not ask it")));
}

TEST_F(ProtectionTest, UpkeepOfWhatIsInOrderChangesNothing) {
  PromoteEvery("5m");
  EXPECT_OK(KeepUp());  // notes since when the image is primary
  world_.ClearCalls();
  EXPECT_OK(KeepUp());
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ProtectionTest, UpkeepLeavesASecondaryAlone) {
  PromoteEvery("5m");
  ASSERT_OK(Demote(on_a_));
  Command(R"({"prefix":"rbd mirror snapshot schedule remove",)"
          R"("level_spec":"replicapool/)" +
          image_ + R"("})");
  world_.ClearCalls();
  EXPECT_OK(KeepUp());
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ProtectionTest, ScheduleOfAnEarlierEnablingIsNotWanted) {
  PromoteEvery("5m");
  ASSERT_OK(Disable(on_a_));
  ASSERT_OK(Enable(on_a_));
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] { return b_.HasImage(image_) && pair_.InSync(b_, image_); },
      minutes(3)));
  world_.Advance(minutes(1));
  ExpectHealth(kDegraded, "no mirror snapshot schedule applies");
  EXPECT_OK(KeepUp());
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr(image_)));
}

// --- journal mode, where nothing holds since when an image is primary

class InfoJournalTest : public VerbsTest {
 protected:
  InfoJournalTest() {
    AddPlain();
    a_.EnableMirroring(image_, MirrorMode::kJournal);
    PeerSays(MirrorStatusState::kStopped, "local image is primary");
    a_.Demote(image_);
    EXPECT_THAT(Info(on_a_)->message, HasSubstr("this site is secondary"));
    world_.Advance(seconds(10));
    a_.Promote(image_, Force::kNo);
  }
  void PeerSays(MirrorStatusState state, const std::string& description) {
    a_.SetStatus(image_, b_.mirror_uuid(), state, description);
  }
  void ExpectUnknown(const std::string& text) {
    EXPECT_THAT(Info(on_a_),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(text)));
  }
};

TEST_F(InfoJournalTest, IsAskedForAgainSoonUntilThePeerHasReported) {
  ExpectUnknown("has not reported since");
  world_.Advance(seconds(20));
  ExpectUnknown("has not reported since");
  PeerSays(MirrorStatusState::kReplaying, "replaying");
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
  // The next promotion of the same process waits for a report of its own.
  a_.Demote(image_);
  EXPECT_OK(Info(on_a_));
  a_.Promote(image_, Force::kNo);
  ExpectUnknown("has not reported since");
  world_.Advance(minutes(1));
  const auto silent = Info(on_a_);
  ASSERT_OK(silent);
  EXPECT_EQ(silent->health, ReplicationHealth::kDegraded);
}

TEST_F(InfoJournalTest, OldTextThatIsWrittenOnceMoreIsNoSplitBrain) {
  ExpectUnknown("has not reported since");
  world_.Advance(seconds(30));
  PeerSays(MirrorStatusState::kStopped, "local image is primary");
  ExpectUnknown("may be a report from before a move");
  world_.Advance(seconds(30));
  PeerSays(MirrorStatusState::kStopped, "local image is primary");
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  EXPECT_THAT(info->message, HasSubstr("split brain"));
}

TEST_F(InfoJournalTest, AnotherProcessTakesAnyReport) {
  Daemon restarted(world_, pair_, a_);
  PeerSays(MirrorStatusState::kReplaying, "replaying");
  const auto info = Info(restarted);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kHealthy) << info->message;
}

class InfoOneWayTest : public VerbsTest {
 protected:
  InfoOneWayTest() : VerbsTest(MirroredPairOptions{.one_way = true}) {
    AddMirrored();
    EXPECT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
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
