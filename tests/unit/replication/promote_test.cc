// Every row of the promote table, with the peer as it may be found.

#include "replication/steps/promote.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "ceph/mirror.h"
#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "replication/look/move_marks.h"
#include "replication/steps/mirror_schedule.h"
#include "tests/fakes/local_notes.h"
#include "tests/testing/no_threads.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PromoteTest : public VerbsTest {
 protected:
  PromoteTest() { AddMirrored(kImage); }
  static constexpr uint64_t kImage = 2 * kSmallImage;  // 64 objects
  /// rbd-mirror of b keeps librbd's promotion from the image until it is
  /// evicted.
  void HoldUntilEvicted(int error) {
    world_.SetCallHook(
        [this, error](absl::string_view site, absl::string_view made, bool) {
          const bool held = site == "b" && made == "rbd_mirror_image_promote" &&
                            on_b_.environment().evictions.count() == 0;
          return held ? error : 0;
        });
  }
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

/// A planned move whose copy is interrupted after that many objects by a new
/// start of rbd-mirror, which does not go on with it.
class GivenUpCopyTest : public PromoteTest,
                        public ::testing::WithParamInterface<uint64_t> {
 protected:
  void GiveUp() {
    b_.SetCopySpeed(4);
    ASSERT_OK(a_.Write(image_, 8));
    a_.CreateMirrorSnapshot(image_);
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] { return b_.Data(image_) == 8 && Newest(b_).complete; },
        minutes(2)));
    ASSERT_OK(a_.Write(image_, 9));
    // Just begun: an object is written, and not noted.
    b_.SetCopySpeed(GetParam() == 0 ? 0.1 : 1);
    a_.Demote(image_);
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] {
          return Newest(b_).kind == MirrorSnapshotKind::kNonPrimaryDemoted &&
                 Newest(b_).last_copied_object >= GetParam();
        },
        minutes(1)));
    b_.ReconnectMirrorDaemon();
    b_.SetCopySpeed(4);
    world_.Advance(minutes(5));
    ASSERT_FALSE(Newest(b_).complete);
  }
};

TEST_P(GivenUpCopyTest, IsSetGoing) {
  ASSERT_NO_FATAL_FAILURE(GiveUp());
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
  EXPECT_FALSE(b_.Torn(image_));
}

TEST_P(GivenUpCopyTest, AForcedPromotionMeanwhileReturnsToTheLastWholeState) {
  ASSERT_NO_FATAL_FAILURE(GiveUp());
  b_.SetCopySpeed(0.5);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("objects copied")));
  ASSERT_FALSE(Newest(b_).complete);
  LoseA();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(b_.Data(image_), 8U);
  EXPECT_FALSE(b_.Torn(image_));
}

TEST_P(GivenUpCopyTest, WhoHasTheImageOpenIsNotDisturbed) {
  ASSERT_NO_FATAL_FAILURE(GiveUp());
  constexpr uint64_t kSomebody = 4711;
  b_.AddWatcher(image_, "192.0.2.9:0/1", kSomebody);
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, AWholeCopyIsNoDemotionWhereThePeerIsNotSeenDemoted) {
  a_.Demote(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return Newest(b_).demoted() && Newest(b_).complete; }, minutes(1)));
  world_.Advance(minutes(1));
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
  ASSERT_OK(pool);
  const std::string id = b_.ImageId(image_);
  const uint64_t copy = Newest(b_).id;
  const auto record = (*pool)->SnapshotRecord(id, copy);
  ASSERT_OK(record);
  ASSERT_TRUE(*(*pool)->SetCopyKind(id, copy, *record,
                                    MirrorSnapshotKind::kNonPrimary));
  b_.SetStatus(image_, "", MirrorStatusState::kReplaying, "replaying, {}");
  world_.ClearCalls();
  deadline_ = seconds(3);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(world_.CountMutations(), 0);
  // Its next report tells.
  deadline_ = minutes(1);
  EXPECT_OK(Promote(on_b_));
}

INSTANTIATE_TEST_SUITE_P(Objects, GivenUpCopyTest,
                         ::testing::Values(0, 1, 2, 30));

TEST_F(PromoteTest, HalfADemotionOfADeadSiteTakesForce) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kRunning);
  LoseA();
  deadline_ = minutes(2);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("no sign of life")));
  EXPECT_FALSE(b_.Info(image_).primary);
}

// What is told is kept: at that moment the answer is the one that lets it be
// forced.
TEST_F(PromoteTest, AWaitTellsWhenItMayBeForced) {
  LoseA();
  world_.Advance(seconds(50));
  const absl::Status told = Promote(on_b_);
  ASSERT_THAT(told, StatusIs(kUnavailable,
                             HasSubstr("; no sign of site 'site-a' for ")));
  const std::string text(told.message());
  const std::string offered = "forcing is offered at about ";
  ASSERT_THAT(text,
              AllOf(HasSubstr(" s of 90 s while calls wait (last report "),
                    HasSubstr(offered)));
  const std::string at = text.substr(text.find(offered) + offered.size(), 8);
  absl::Time moment;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(
      "%Y-%m-%d %H:%M:%S",
      absl::FormatTime("%Y-%m-%d ", absl::FromChrono(world_.WallNow()),
                       absl::UTCTimeZone()) +
          at,
      &moment, &error))
      << text;
  const SteadyDuration left =
      absl::ToChronoSeconds(moment - absl::FromChrono(world_.WallNow()));
  ASSERT_GT(left, seconds(5));
  deadline_ = left - seconds(5);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  deadline_ = seconds(20);
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, DeadLocalMirrorIsNoReasonToForce) {
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  b_.SetMirrorDaemon(DaemonState::kDown);
  for (int call = 0; call < 5; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("start rbd-mirror here")));
  // Back again, it gets its time before its silence says anything.
  b_.SetMirrorDaemon(DaemonState::kRunning);
  deadline_ = seconds(85);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, LocalMirrorThatIsStoppedOnPurposeIsNotAwaited) {
  on_b_.options().force_without_local_mirror = true;
  LoseA();
  b_.SetMirrorDaemon(DaemonState::kDown);
  deadline_ = minutes(3);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("no sign of life"),
                             HasSubstr("rbd-mirror of this site is down"))));
}

// Both rbd-mirrors stand still in the middle of a planned move, with both
// clusters alive; the last write is on a alone.
TEST_F(PromoteTest, PlannedMoveWithBothMirrorsDownIsNeverForced) {
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  for (int call = 0; call < 6; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("start rbd-mirror here")));
  b_.SetMirrorDaemon(DaemonState::kRunning);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
}

// The source's rbd-mirror is down for long, and b is busy with another image.
TEST_F(PromoteTest, PlannedMoveIsAwaitedWhileOtherImagesArrive) {
  static constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";
  pair_.AddMirroredVolume(a_, kOther);
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  for (int i = 1; i < 9; ++i) {
    world_.Schedule(seconds(40 * i), [this] {
      a_.CreateMirrorSnapshot(MirroredPair::ImageOf(kOther));
    });
  }
  for (int call = 0; call < 5; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
}

// The same with a copy in another namespace: all wait in one queue.
TEST_F(PromoteTest, PlannedMoveIsAwaitedWhileAnotherNamespaceIsCopied) {
  static constexpr char kOther[] = "0d2b7d5e-4f60-4c8e-9a36-ad5dbd9b7a11";
  pair_.AddMirroredVolume(a_, kOther, uint64_t{256} << 20,
                          MirroredPair::kNamespace);
  a_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(3));
  b_.SetCopySpeed(0.2);  // 64 objects take five minutes
  ASSERT_OK(a_.Write(MirroredPair::ImageOf(kOther), 5));
  a_.CreateMirrorSnapshot(MirroredPair::ImageOf(kOther));
  for (int call = 0; call < 4; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  b_.SetCopySpeed(1000);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
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

TEST_F(PromoteTest, PeerThatStaysPrimaryTakesForceOnlyAfterTheTakeoverTime) {
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("still reports its image as")));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("has been primary for"),
                             HasSubstr("site-a"), HasSubstr("forc"))));
  EXPECT_LE(took_, seconds(5));
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(PromoteTest, RefusedDemotionKeepsThePeerFromTakingOver) {
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  deadline_ = seconds(30);
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, AllOf(HasSubstr("client.4464"),
                                           HasSubstr("10.1.2.3:0/77"))));
  // The workload stops at last, and what it wrote is here.
  ASSERT_OK(a_.Write(image_, 9));
  a_.RemoveWatcher(image_, 4464);
  ASSERT_OK(Demote(on_a_));
  deadline_ = seconds(60);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
}

TEST_F(PromoteTest, RefusedDemotionThatIsNotRepeatedCountsForTenMinutes) {
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  EXPECT_THAT(Demote(on_a_), StatusIs(kFailedPrecondition));
  world_.Advance(seconds(5));
  absl::Status answer;
  const SteadyTime begin = world_.Now();
  do {
    answer = Promote(on_b_);
  } while (absl::IsUnavailable(answer) && world_.Now() - begin < minutes(15));
  EXPECT_THAT(answer, StatusIs(kFailedPrecondition));
  EXPECT_GE(world_.Now() - begin, minutes(10));
}

TEST_F(PromoteTest, FirstCallOfASeriesIsAnsweredEarly) {
  on_b_.options().first_answer = seconds(20);
  deadline_ = seconds(100);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("still reports its image as")));
  EXPECT_GE(took_, seconds(20));
  EXPECT_LE(took_, seconds(22));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_GE(took_, seconds(99));
  a_.Demote(image_);
  EXPECT_OK(Promote(on_b_));
}

TEST_F(PromoteTest, NewSnapshotsOfThePeerDoNotRestartItsClock) {
  for (int i = 1; i < 16; ++i) {
    world_.Schedule(seconds(13 * i),
                    [this] { a_.CreateMirrorSnapshot(image_); });
  }
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, PauseBetweenCallsRestartsTheClockOfThePeer) {
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  world_.Advance(seconds(70));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, MutatingVerbRestartsTheClockOfThePeer) {
  for (int call = 0; call < 3; ++call) {
    EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  }
  EXPECT_OK(Demote(on_b_));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, DemotionThatIsBeingCopiedRestartsTheClockOfThePeer) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  b_.SetCopySpeed(0.5);
  a_.Demote(image_);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
}

TEST_F(PromoteTest, SiteThatDiedLongAgoIsRecognisedAfterTheSettleTime) {
  LoseA();
  deadline_ = minutes(2);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("no sign of life"), HasSubstr("site-a"),
                             HasSubstr("forcing returns to"))));
  EXPECT_GE(took_, seconds(90));
  EXPECT_LE(took_, seconds(95));
}

TEST_F(PromoteTest, SiteThatHasJustDiedGetsTheSettleTime) {
  a_.SetClusterUp(false);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
}

TEST_F(PromoteTest, DisasterIsOverAfterTheForcedCall) {
  LoseA();
  deadline_ = minutes(2);
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

// rbd-mirror brings it before the mirror snapshot that it is part of.
TEST_F(PromoteTest, ASnapshotWhoseNameAloneHasArrivedIsRemovedByForce) {
  const auto snapshots = [this] {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    const auto header = (*pool)->Header(b_.ImageId(image_));
    std::vector<std::string> names;
    for (const ImageSnapshot& snapshot : header->other_snapshots) {
      names.push_back(snapshot.name);
    }
    return names;
  };
  a_.AddSnapshot(image_, "whole", SnapshotKind::kUser);
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  ASSERT_THAT(snapshots(), ElementsAre("whole"));
  LoseA();
  b_.AddSnapshot(image_, "half", SnapshotKind::kUser);
  deadline_ = minutes(2);
  ASSERT_THAT(Promote(on_b_), StatusIs(kFailedPrecondition));
  // Busy for a moment, as one is that somebody has just closed.
  const auto calls = std::make_shared<std::atomic<int>>(0);
  world_.SetCallHook([calls](absl::string_view, absl::string_view made, bool) {
    return made == "rbd_snap_remove_by_id" && ++*calls == 1 ? EBUSY : 0;
  });
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(*calls, 2);
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_THAT(snapshots(), ElementsAre("whole"));
}

TEST_F(PromoteTest, ForceFromALivingPrimaryEndsTheCopyingFirst) {
  std::vector<std::string> calls;
  const auto before = b_.Blocklist();
  world_.ClearCalls();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  // The clients of rbd-mirror of both sites.
  EXPECT_EQ(b_.Blocklist().size(), before.size() + 2);
  EXPECT_EQ(on_b_.environment().evictions.count(), 1U);
  for (const CallRecord& call : world_.Calls()) {
    if (call.site != "b") continue;
    if (absl::StrContains(call.object, "\"add\"")) calls.push_back("blocklist");
    if (call.call == "rados_object_list") calls.push_back("barrier");
    if (call.call == "rbd.mirror_image_status_get") calls.push_back("look");
    if (call.call == "rbd_mirror_image_promote") calls.push_back("promote");
  }
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  ASSERT_GE(calls.size(), 5U);
  EXPECT_EQ(std::vector(calls.begin(), calls.begin() + 5),
            (std::vector<std::string>{"look", "blocklist", "barrier", "look",
                                      "promote"}));
}

TEST_F(PromoteTest, ForceBlocklistsADeadOwnerOfTheLock) {
  const std::vector<Watcher> clients = [this] {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    return *ListMirrorClients(**pool);
  }();
  ASSERT_EQ(clients.size(), 2U);
  b_.SetMirrorDaemon(DaemonState::kDown);
  LoseA();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ASSERT_EQ(b_.Blocklist().size(), 1U);
  EXPECT_EQ(b_.Blocklist().begin()->first, clients.front().address);
}

TEST_F(PromoteTest, ForceBlocklistsNobodyWhereNothingCopies) {
  a_.Demote(image_);
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_));
  ASSERT_OK(Demote(on_b_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(2));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(on_b_.environment().evictions.count(), 0U);
}

TEST_F(PromoteTest, ALaterForcedPromotionOfThePoolSharesTheStep) {
  const std::string first = id_;
  const std::string second = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  const std::string second_id =
      pair_.AddMirroredVolume(a_, second, uint64_t{256} << 20);
  world_.Advance(minutes(1));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  id_ = second_id;
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(MirroredPair::ImageOf(second)).primary);
  EXPECT_EQ(on_b_.environment().evictions.count(), 1U);
  id_ = first;
}

TEST_F(PromoteTest, ForceEndsTheCopyingAgainWhenRbdMirrorIsBack) {
  EXPECT_OK(Promote(on_b_, Force::kYes));
  const std::string second = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  world_.Advance(minutes(3));
  id_ = pair_.AddMirroredVolume(a_, second, uint64_t{256} << 20);
  world_.Advance(minutes(1));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(on_b_.environment().evictions.count(), 2U);
}

TEST_F(PromoteTest, ForceThatMetAnotherSnapshotLooksAgain) {
  world_.SetCallHook(nullptr);
  const auto calls = std::make_shared<std::atomic<int>>(0);
  world_.SetCallHook(
      [this, calls](absl::string_view, absl::string_view call, bool) {
        if (call != "rbd_mirror_image_promote" || ++*calls > 1) return 0;
        // What a copy that began and ended after the look leaves.
        a_.CreateMirrorSnapshot(image_);
        b_.AddCopiedSnapshot(image_);
        return EINVAL;
      });
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(calls->load(), 2);
}

TEST_F(PromoteTest, HalfADemotionIsRemovedFromAPrimary) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kDown);
  LoseA();
  b_.Promote(image_, Force::kYes);  // by hand
  const auto half_copies = [this] {
    const auto snapshots = b_.Snapshots(image_);
    return std::count_if(
        snapshots.begin(), snapshots.end(),
        [](const MirrorSnapshot& snapshot) { return !snapshot.complete; });
  };
  ASSERT_EQ(half_copies(), 1);
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(half_copies(), 0);
}

TEST_F(VerbsTest, ForceWithoutOneWholeCopyInJournalModeIsUnavailable) {
  AddPlain();
  a_.EnableMirroring(image_, MirrorMode::kJournal);
  a_.Demote(image_);
  const std::string journal = absl::StrCat("journal.", a_.ImageId(image_));
  a_.SetOmap(MirroredPair::kPool, "", journal,
             {{"next_tag_tid", std::string("\1\0\0\0\0\0\0\0", 8)}});
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_a_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("first copy")));
  EXPECT_EQ(world_.CountMutations(), 0);
  a_.SetOmap(MirroredPair::kPool, "", journal,
             {{"next_tag_tid", std::string("\2\0\0\0\0\0\0\0", 8)}});
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_TRUE(a_.Info(image_).primary);
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

TEST_F(OneWayTest, HalfADemotionThatIsGivenUpTakesPeople) {
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(image_, 9));
  a_.Demote(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        const MirrorSnapshot newest = Newest(b_);
        return newest.demoted() && newest.last_copied_object > 1;
      },
      minutes(1)));
  b_.ReconnectMirrorDaemon();
  world_.Advance(minutes(2));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("has given it up")));
  EXPECT_FALSE(Newest(b_).complete);
}

TEST_F(OneWayTest, WithoutAnIntervalForcingIsUpToPeople) {
  LoseA();
  deadline_ = minutes(5);
  EXPECT_THAT(
      Promote(on_b_),
      StatusIs(kUnavailable, HasSubstr("rbd-addons promote ID --force")));
}

TEST_F(OneWayTest, NoSnapshotForThreeIntervalsTakesForce) {
  deadline_ = seconds(100);
  const ParameterMap minutely = {{"schedulingInterval", "1m"}};
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(seconds(10));
  EXPECT_THAT(Promote(on_b_, Force::kNo, minutely), StatusIs(kUnavailable));
  EXPECT_THAT(Promote(on_b_, Force::kNo, minutely),
              StatusIs(kFailedPrecondition, HasSubstr("one-way")));
}

TEST_F(OneWayTest, SilenceOfTheLocalDaemonIsNoDeath) {
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  b_.SetMirrorDaemon(DaemonState::kDown);
  const ParameterMap minutely = {{"schedulingInterval", "1m"}};
  for (int call = 0; call < 6; ++call) {
    EXPECT_THAT(Promote(on_b_, Force::kNo, minutely), StatusIs(kUnavailable));
  }
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
              StatusIs(kUnavailable, HasSubstr("still holds the image")));
}

// What a change of the metadata says, too, when its image is no secondary.
TEST_F(PromoteTest, RbdMirrorIsNotBlamedForAChangeByOthers) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  Fail("rbd_mirror_image_promote", EAGAIN, 1000000);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("somebody else has changed")));
}

// The demotion is here whole, and rbd-mirror hangs with the image open.
TEST_F(PromoteTest, RbdMirrorThatHangsIsEvictedAfterPatienceByForce) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  HoldUntilEvicted(EBUSY);
  deadline_ = minutes(5);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_GE(took_, on_b_.options().promote_patience);
  EXPECT_LT(took_, on_b_.options().promote_patience + seconds(20));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(on_b_.environment().evictions.count(), 1U);
}

// Its caller has left meanwhile.
TEST_F(PromoteTest, RbdMirrorThatHangsIsEvictedWithoutACallerToo) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  HoldUntilEvicted(EROFS);
  deadline_ = seconds(20);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
}

// Once: who holds it then is not rbd-mirror.
TEST_F(PromoteTest, WhatStaysBusyIsUnavailableByForceToo) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  Fail("rbd_mirror_image_promote", EBUSY, 1000000);
  deadline_ = minutes(10);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("still holds the image")));
  EXPECT_EQ(on_b_.environment().evictions.count(), 1U);
}

TEST_F(PromoteTest, WithoutForceNobodyIsEvicted) {
  a_.Demote(image_);
  world_.Advance(minutes(2));
  Fail("rbd_mirror_image_promote", EBUSY, 1000000);
  deadline_ = minutes(10);
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(on_b_.environment().evictions.count(), 0U);
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
  const std::string key = absl::StrCat(".rbd_mirror.", b_.mirror_uuid());
  b_.SetImageMetadata(image_, key, R"({"resync_requested": true})");
  EXPECT_OK(Promote(on_b_, Force::kYes));
  // At the next demotion it would delete this copy.
  EXPECT_EQ(b_.ImageMetadata(image_).count(key), 0);
  world_.ClearCalls();
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(PromoteTest, WaitingOpensNothingForWriting) {
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
  EXPECT_EQ(mutations_begun_, 0);
}

// 200 volumes may wait at a time.
TEST_F(PromoteTest, WhileNothingChangesTheImageIsSeldomLookedAt) {
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable));  // after 60 s
  EXPECT_GE(world_.CountCalls("b", "rbd.mirror_image_status_get"), 3);
  EXPECT_LT(world_.CountCalls("b", "rbd.mirror_image_status_get"), 6);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open_read_only"), 0);
  EXPECT_GT(world_.CountCalls("b", "rados_stat"), 40);
  // Both namespaces of the pool, each 5 s.
  EXPECT_LE(world_.CountCalls("b", "rbd_mirror_image_global_status_list"), 28);
  // The volume is not looked for when its image is not.
  EXPECT_LT(world_.CountCalls("b", "rados_read_op_omap_get_vals2"), 10);
}

TEST_F(PromoteTest, WhatChangesIsNoticedWithinASecondAlsoWhileItRests) {
  world_.Schedule(seconds(17), [this] {
    ASSERT_OK(a_.Write(image_, 7));
    a_.Demote(image_);
  });
  ASSERT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_GE(took_, seconds(17));
  EXPECT_LT(took_, seconds(21));
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

// --- a move that is given up

/// Site a has demoted itself, b has the whole demotion, and its rbd-mirror
/// takes as long as the real one to notice anything else.
class GivenUpMoveTest : public PromoteTest {
 protected:
  GivenUpMoveTest() {
    b_.SetNoticeDelay(seconds(28));
    a_.SetNoticeDelay(seconds(28));
    EXPECT_OK(Demote(on_a_));
    EXPECT_TRUE(world_.AdvanceUntil(
        [&] { return Newest(b_).demoted() && Newest(b_).complete; },
        seconds(9)));
    world_.Advance(seconds(40));  // both have reported
    deadline_ = minutes(2);
  }
};

TEST_F(GivenUpMoveTest, AnswersOnceThePeerFollows) {
  EXPECT_OK(Promote(on_a_));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_TRUE(pair_.InSync(b_, image_));
  EXPECT_FALSE(Newest(b_).demoted());
  world_.ClearCalls();
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// The fault enumeration found it: the schedule was noted with what the look had
// shown before, and the next demotion would have passed for an unheard one.
TEST_F(GivenUpMoveTest, TheScheduleIsNotedWithoutTheDemotionThatIsOver) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  const LocalRecord record = Noted(a_, image_);
  EXPECT_FALSE(record.demotion.has_value());
  EXPECT_THAT(record.schedule, HasSubstr("5m"));
}

// What the volume had before its group is noted first, or both are tried again.
TEST_F(PromoteTest, AScheduleOfItsOwnIsNotLostWhereItCannotBeSaved) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(minutes(2));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(2));
  ASSERT_OK(Promote(on_b_));
  world_.Advance(minutes(2));
  ASSERT_OK(Demote(on_b_));
  world_.Advance(minutes(2));
  bool fails = true;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd.metadata_set" && std::exchange(fails, false) ? EIO : 0;
  });
  deadline_ = minutes(2);
  EXPECT_OK(Run([&](OperationContext& context) {
    PromoteRequest request{
        on_a_.Target(id_), Force::kNo,
        *ReplicationParameters::Parse({{"schedulingInterval", "10m"}})};
    request.scope = VerbScope::kGroupMember;
    return addons::Promote(context, on_a_.environment(), request);
  }));
  EXPECT_FALSE(fails);
  EXPECT_THAT(Noted(a_, image_).schedule, HasSubstr("10m"));
  const auto metadata = a_.ImageMetadata(image_);
  ASSERT_TRUE(metadata.contains(kOwnScheduleMark));
  EXPECT_THAT(metadata.at(kOwnScheduleMark), HasSubstr("1h"));
}

TEST_F(GivenUpMoveTest, RetryWaitsOnAlthoughItFindsAPrimary) {
  on_a_.options().first_answer = seconds(5);
  b_.SetNoticeDelay(minutes(4));
  absl::Status answer;
  while (!a_.Info(image_).primary) answer = Promote(on_a_);
  EXPECT_THAT(answer, StatusIs(kUnavailable, HasSubstr("follows it")));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("follows it")));
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_NE(info->health, ReplicationHealth::kHealthy);
  EXPECT_THAT(info->message, HasSubstr("takes its own demotion back"));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  EXPECT_OK(Promote(on_a_));
  EXPECT_FALSE(Newest(b_).demoted());
}

// ceph-csi's own server, or "rbd mirror image promote", knows nothing of the
// note that an earlier move from here has left.
TEST_F(GivenUpMoveTest, InfoOfAPromotionByOthersDoesNotAskForAnother) {
  EXPECT_OK(Promote(on_b_));
  world_.Advance(minutes(2));
  EXPECT_OK(Demote(on_b_));
  world_.Advance(minutes(2));
  a_.Promote(image_, Force::kNo);
  world_.Advance(minutes(2));
  ASSERT_TRUE(Noted(a_, image_).demotion.has_value());
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_THAT(info->message, Not(HasSubstr("own demotion")));
}

TEST_F(GivenUpMoveTest, YieldsToAPeerThatWasPromotedMeanwhile) {
  on_a_.options().first_answer = seconds(5);
  absl::Status answer;
  while (!a_.Info(image_).primary) answer = Promote(on_a_);
  EXPECT_THAT(answer, StatusIs(kUnavailable));
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, AllOf(HasSubstr("site-b"),
                                           HasSubstr("given the role back"))));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_TRUE(b_.Info(image_).primary);
}

// What b has written as primary is not here, and does not come by itself.
TEST_F(GivenUpMoveTest, ADemotionThatWasGivenBackIsNotTakenBack) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  ASSERT_FALSE(a_.Info(image_).primary);
  ASSERT_OK(b_.Write(image_, 77));
  world_.Advance(minutes(1));
  b_.Demote(image_);  // by the rbd command: the daemon refuses
  world_.Advance(minutes(2));
  EXPECT_OK(Demote(on_a_));
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("resync this image")));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(GivenUpMoveTest, ADemotionThatWasGivenBackIsForcedWhenThePeerIsGone) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  ASSERT_FALSE(a_.Info(image_).primary);
  world_.Advance(minutes(1));
  b_.Demote(image_);
  world_.Advance(minutes(1));
  b_.SetClusterUp(false);
  deadline_ = minutes(5);
  EXPECT_THAT(Promote(on_a_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("gave the role back")));
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_FALSE(Noted(a_, image_).demotion.has_value());
}

TEST_F(GivenUpMoveTest, DeathInTheMiddleOfYieldingChangesNothing) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  EXPECT_OK(Promote(on_b_));
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd.metadata_set") throw FakeCrash();
                       return 0;
                     });
  EXPECT_THROW((void)Promote(on_a_), FakeCrash);
  world_.SetCallHook(nullptr);
  ASSERT_TRUE(a_.Info(image_).primary);
  world_.Advance(minutes(1));
  // The note stays whoever demotes it.
  EXPECT_OK(Demote(on_a_));
  EXPECT_OK(Demote(on_b_));
  world_.Advance(minutes(2));
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("resync this image")));
}

// Somebody may have been told that it is primary.
TEST_F(GivenUpMoveTest, APromotionByAnotherProgramIsNotTakenFromIt) {
  EXPECT_OK(Promote(on_b_));
  a_.Promote(image_, Force::kNo);
  world_.Advance(seconds(40));
  ASSERT_TRUE(Noted(a_, image_).demotion.has_value());
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, AllOf(HasSubstr("by another program"),
                                           HasSubstr("primary as well"))));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(GivenUpMoveTest, ARefusedDemotionLeavesWhatThePromotionHasNoted) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  const auto marks = a_.ImageMetadata(image_);
  ASSERT_TRUE(Noted(a_, image_).demotion.has_value());
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_demote" ? EIO : 0;
  });
  EXPECT_THAT(Demote(on_a_), Not(IsOk()));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(a_.ImageMetadata(image_), marks);
}

TEST_F(GivenUpMoveTest, DoesNotYieldUnderAWorkload) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  a_.AddWatcher(image_, "10.1.2.3:0/77", 4464);
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("client.4464")));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(GivenUpMoveTest, ForceWaitsForNobodyToFollow) {
  b_.SetNoticeDelay(minutes(4));
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_LT(took_, seconds(40));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_TRUE(Newest(b_).demoted());
}

TEST_F(GivenUpMoveTest, ForceDoesNotHideAPeerThatShowsItselfPrimary) {
  on_a_.options().first_answer = seconds(5);
  while (!a_.Info(image_).primary) (void)Promote(on_a_);
  EXPECT_OK(Promote(on_b_));
  world_.Advance(seconds(40));  // it has said so
  for (int call = 0; call < 2; ++call) {
    EXPECT_THAT(
        Promote(on_a_, Force::kYes),
        StatusIs(kUnavailable, AllOf(HasSubstr("site-b"),
                                     HasSubstr("it is primary as well"))));
    // Nor is it undone.
    EXPECT_TRUE(a_.Info(image_).primary);
  }
}

TEST_F(GivenUpMoveTest, ForcedTakeoverIsNoMoveThatIsGivenUp) {
  EXPECT_OK(Promote(on_b_));
  world_.Advance(minutes(1));
  // It dies as late as it can.
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd.metadata_set") throw FakeCrash();
                       return 0;
                     });
  EXPECT_THROW((void)Promote(on_a_, Force::kYes), FakeCrash);
  world_.SetCallHook(nullptr);
  world_.Advance(minutes(1));
  ASSERT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_TRUE(a_.Info(image_).primary);
}

// It dies between librbd's promotion and the removal of the note.
TEST_F(GivenUpMoveTest, AForcedTakeoverThatDiedEarlierIsNoneEither) {
  EXPECT_OK(Promote(on_b_));
  world_.Advance(minutes(1));
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       if (call == "rbd_mirror_image_promote")
                         throw FakeCrash();
                       return 0;
                     });
  EXPECT_THROW((void)Promote(on_a_, Force::kYes), FakeCrash);
  world_.SetCallHook(nullptr);
  world_.Advance(minutes(2));
  ASSERT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_FALSE(Noted(a_, image_).demotion.has_value());
}

// It may have been promoted before it died.
TEST_F(GivenUpMoveTest, ASilentPeerIsForForceToDecide) {
  b_.SetClusterUp(false);
  world_.Advance(minutes(3));
  absl::Status status = Promote(on_a_);
  while (absl::IsUnavailable(status)) status = Promote(on_a_);
  EXPECT_THAT(status,
              StatusIs(kFailedPrecondition, HasSubstr("nobody tells whether")));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_OK(Promote(on_a_, Force::kYes));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(GivenUpMoveTest, AnOrdinaryPromotionDoesNotWaitForFollowers) {
  // Each site carries the mark of its own earlier demotion.
  EXPECT_OK(Promote(on_b_));
  EXPECT_OK(Demote(on_b_));
  a_.SetMirrorDaemon(DaemonState::kRunning);
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(Demote(on_a_));
  const SteadyTime begin = world_.Now();
  EXPECT_OK(Promote(on_b_));
  EXPECT_LE(world_.Now() - begin, seconds(75));
}

/// How many of both sites answer OK to calls at this distance, a first.
class GivenUpRaceTest : public GivenUpMoveTest,
                        public ::testing::WithParamInterface<int> {};

TEST_P(GivenUpRaceTest, NeverTwoOks) {
  // The calls of b run in steps between those of a.
  on_a_.options().first_answer = seconds(1);
  on_b_.options().first_answer = seconds(1);
  deadline_ = seconds(2);
  bool a_ok = false;
  bool b_ok = false;
  const SteadyTime begin = world_.Now();
  while (world_.Now() - begin < minutes(5)) {
    if (!a_ok) a_ok = Promote(on_a_).ok();
    if (!b_ok && world_.Now() - begin >= seconds(GetParam())) {
      b_ok = Promote(on_b_).ok();
    }
    world_.Advance(seconds(1));
    if (a_ok || b_ok) break;
  }
  // One more minute of both.
  for (int i = 0; i < 20; ++i) {
    const bool again_a = Promote(on_a_).ok();
    const bool again_b = Promote(on_b_).ok();
    a_ok = a_ok || again_a;
    b_ok = b_ok || again_b;
  }
  EXPECT_FALSE(a_ok && b_ok);
  EXPECT_TRUE(a_ok || b_ok);
}
INSTANTIATE_TEST_SUITE_P(Distances, GivenUpRaceTest,
                         ::testing::Values(0, 1, 5, 10, 15, 20, 25, 28, 29, 30,
                                           31, 32, 35, 40, 50, 60));

// --- journal mode: rbd-mirror notices a promotion late

/// Mirrored in journal mode and demoted; rbd-mirror of a has the image open.
class OpenByMirrorTest : public VerbsTest {
 protected:
  OpenByMirrorTest() {
    AddPlain();
    a_.EnableMirroring(image_, MirrorMode::kJournal);
    world_.Advance(minutes(1));
    a_.Demote(image_);
    Report();
    const auto pool =
        pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kRead);
    EXPECT_OK(pool);
    const auto clients = ListMirrorClients(**pool);
    EXPECT_OK(clients);
    client_ = clients->front();
    a_.AddWatcher(image_, client_.address, client_.client_id);
  }
  void LetGo() { a_.RemoveWatcher(image_, client_.client_id); }
  /// Both rbd-mirrors do, again and again.
  void Report() {
    for (const std::string& uuid : {std::string(), b_.mirror_uuid()}) {
      a_.SetStatus(image_, uuid, MirrorStatusState::kUnknown,
                   "remote image is not primary");
    }
    world_.Schedule(seconds(1), [this] { Report(); });
  }

  Watcher client_;
};

TEST_F(OpenByMirrorTest, APromotionIsAnsweredWhenItHasLetGo) {
  deadline_ = seconds(30);
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("still has the image open")));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("still has the image open")));
  LetGo();
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(OpenByMirrorTest, APromotionEndsAsSoonAsItLetsGo) {
  world_.Schedule(seconds(5), [this] { LetGo(); });
  EXPECT_OK(Promote(on_a_));
  EXPECT_GE(took_, seconds(5));
  EXPECT_LT(took_, seconds(10));
}

TEST_F(OpenByMirrorTest, APromotionThatItTakesAwayIsNotAnsweredOk) {
  world_.Schedule(seconds(5), [this] {
    ASSERT_TRUE(a_.Info(image_).primary);
    a_.Demote(image_);
    LetGo();
  });
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("taken the role away again")));
}

// It noticed long ago, or it is another site's.
TEST_F(OpenByMirrorTest, IsNotAwaitedForLongerThanTheSettleTime) {
  deadline_ = seconds(30);
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  world_.Advance(minutes(1));
  EXPECT_OK(Promote(on_a_));
}

// It is copying that it has the image open for, until it notices.
TEST_F(OpenByMirrorTest, IsAwaitedByAnotherDaemonThatFindsAPrimary) {
  deadline_ = seconds(30);
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable));
  Daemon another{world_, pair_, a_};
  EXPECT_THAT(Promote(another),
              StatusIs(kUnavailable, HasSubstr("still has the image open")));
}

TEST_F(PromoteTest, ForceDoesNotBeginWithoutTheThreadThatWatchesOverIt) {
  on_b_.environment().start_thread = NoThreads();
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("no thread can be started")));
  EXPECT_FALSE(b_.Info(image_).primary);
  on_b_.environment().start_thread = StartThread;
  EXPECT_OK(Promote(on_b_, Force::kYes));
}

// --- in a group

TEST_F(VerbsTest, MemberWithoutReplicationIsNoReasonToForceItsGroup) {
  AddPlain();
  for (const Force force : {Force::kNo, Force::kYes}) {
    EXPECT_THAT(Run([&](OperationContext& context) {
                  return addons::Promote(context, on_a_.environment(),
                                         {on_a_.Target(id_),
                                          force,
                                          ReplicationParameters(),
                                          VerbScope::kGroupMember,
                                          {}});
                }),
                StatusIs(kUnavailable, HasSubstr("not enabled")));
  }
}

TEST_F(PromoteTest, ALockThatAPersonHasTakenIsNamed) {
  ASSERT_OK(Demote(on_a_));
  world_.Advance(std::chrono::minutes(1));
  b_.AddLocker(image_, "10.0.0.9:0/99", 99, FakeSite::LockKind::kByHand);
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("client.99 at 10.0.0.9:0/99 "
                                               "has its lock 'by-hand'")));
  EXPECT_FALSE(b_.Info(image_).primary);
  b_.RemoveLocker(image_);
  EXPECT_OK(Promote(on_b_));
}

// A demotion at a limit of snapshots leaves such a one, and librbd makes none
// writable there.
TEST_F(PromoteTest, APrimaryThatRefusesWritesIsMadeWritableAtItsSnapshotLimit) {
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size());
  a_.RefuseWrites(image_);
  const uint64_t newest = Newest(a_).id;
  world_.ClearCalls();
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(a_.Write(image_, 5));
  EXPECT_EQ(Newest(a_).id, newest);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd.set_features"), 1);
}

// A demotion for a moment is what the other site could copy, and be promoted
// by, too.
TEST_F(PromoteTest, WhoDiedWithTheLockIsBlocklistedBeforeTheMarkIsTakenAway) {
  a_.RefuseWrites(image_);
  a_.AddLocker(image_, "10.0.0.9:0/9", 9001, FakeSite::LockKind::kAutomatic);
  world_.ClearCalls();
  bool blocklisted = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view made, bool) {
    if (made == "rbd.set_features") {
      blocklisted = a_.Blocklist().contains("10.0.0.9:0/9");
    }
    return 0;
  });
  EXPECT_OK(Promote(on_a_));
  EXPECT_TRUE(blocklisted);
  EXPECT_OK(a_.Write(image_, 5));
  EXPECT_EQ(world_.CountCalls("a", "rbd.set_features"), 1);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
}

// It may be in the middle of a demotion: librbd demotes with the lock, and
// refuses writes before it makes the snapshot.
TEST_F(PromoteTest, TheMarkIsNotTakenAwayWhereALivingClientHasTheLock) {
  a_.RefuseWrites(image_);
  a_.AddWatcher(image_, "10.0.0.9:0/9", 9001);
  a_.AddLocker(image_, "10.0.0.9:0/9", 9001, FakeSite::LockKind::kAutomatic);
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_a_),
              StatusIs(kUnavailable, HasSubstr("10.0.0.9:0/9")));
  EXPECT_EQ(world_.CountCalls("a", "rbd.set_features"), 0);
  EXPECT_FALSE(a_.Blocklist().contains("10.0.0.9:0/9"));
  // Until it goes: within a call, too.
  world_.Schedule(seconds(10), [&] { a_.RemoveWatcher(image_, 9001); });
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(a_.Write(image_, 5));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
}

TEST_F(PromoteTest, TheMarkIsNotTakenAwayFromAnImageThatWasDemotedMeanwhile) {
  a_.RefuseWrites(image_);
  world_.SetCallHook([this](absl::string_view, absl::string_view made, bool) {
    if (made == "rbd.set_features") {
      world_.SetCallHook(nullptr);
      a_.Demote(image_);
    }
    return 0;
  });
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("demoted")));
  EXPECT_THAT(a_.Write(image_, 5), Not(IsOk()));
}

TEST_F(PromoteTest, BusyWhereTheMarkIsTakenAwayIsRepeated) {
  a_.RefuseWrites(image_);
  for (const int error : {EBUSY, EAGAIN}) {
    Fail("rbd.set_features", error, 1);
    EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable)) << error;
  }
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(a_.Write(image_, 5));
}

}  // namespace
}  // namespace addons::testing
