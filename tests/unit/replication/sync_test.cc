// Mirror snapshots that an administrator asks for, and the wait until the other
// site has them.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
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

constexpr char kMake[] = "rbd_mirror_image_create_snapshot2";

class SyncTest : public VerbsTest {
 protected:
  explicit SyncTest(MirroredPairOptions options = {}) : VerbsTest(options) {}
  void SetUp() override {
    AddMirrored(kSmallImage);
    world_.Advance(minutes(1));
    world_.AdvanceToSecond(30);
  }
  int Made() { return world_.CountCalls("a", kMake); }
};

TEST_F(SyncTest, WhatWasWrittenIsAtTheOtherSite) {
  ASSERT_OK(a_.Write(image_, 7));
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  EXPECT_NE(b_.Data(image_), 7);
  EXPECT_OK(AwaitSync(on_a_, *made));
  EXPECT_EQ(b_.Data(image_), 7);
  EXPECT_EQ(Made(), 1);
}

TEST_F(SyncTest, EachCallMakesOne) {
  const auto first = MakeSync(on_a_);
  const auto second = MakeSync(on_a_);
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_NE(first->id, second->id);
  EXPECT_EQ(Made(), 2);
}

TEST_F(SyncTest, ACopyThatIsUnderWayIsAwaited) {
  b_.SetCopySpeed(0.1);
  ASSERT_OK(a_.Write(image_, 7));
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  // Several reports of the other site.
  deadline_ = seconds(100);
  EXPECT_THAT(
      AwaitSync(on_a_, *made),
      StatusIs(kUnavailable,
               AllOf(HasSubstr("not complete at site 'site-b': copied "),
                     HasSubstr("%, reported "), HasSubstr("waited for"))));
  EXPECT_EQ(mutations_begun_, 0);
  // How far it is grows, and is told as what a person sees of the operation.
  ASSERT_THAT(progress_, Not(IsEmpty()));
  const auto [copied, all] = progress_.back();
  EXPECT_EQ(all, 100U);
  EXPECT_GT(copied, progress_.front().first);
  EXPECT_LT(copied, all);
  deadline_ = minutes(5);
  EXPECT_OK(AwaitSync(on_a_, *made));
  EXPECT_GT(took_, seconds(5));
  EXPECT_THAT(steps_, Contains("waiting until the copy is complete"));
  EXPECT_EQ(b_.Data(image_), 7);
}

// Ceph's manager makes one on the full minute: two makers at a time end a
// process.
TEST_F(SyncTest, NoneIsMadeBesideOneOfTheManager) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1m"}}));
  world_.AdvanceToSecond(58);
  deadline_ = minutes(2);
  ASSERT_OK(MakeSync(on_a_));
  EXPECT_THAT(
      steps_,
      Contains("waiting for a moment without the manager's mirror snapshots"));
  EXPECT_GT(took_, seconds(15));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
}

TEST_F(SyncTest, APausedVolumeIsSynced) {
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  ASSERT_OK(Pause(on_a_));
  ASSERT_OK(a_.Write(image_, 7));
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  EXPECT_OK(AwaitSync(on_a_, *made));
  EXPECT_EQ(b_.Data(image_), 7);
}

TEST_F(SyncTest, AnRbdMirrorThatIsDownIsWaitedFor) {
  ASSERT_OK(a_.Write(image_, 7));
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(minutes(1));
  world_.AdvanceToSecond(30);
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  EXPECT_THAT(AwaitSync(on_a_, *made),
              StatusIs(kUnavailable, AllOf(HasSubstr("has not reported"),
                                           HasSubstr("start it there"))));
  b_.SetMirrorDaemon(DaemonState::kRunning);
  deadline_ = minutes(3);
  EXPECT_OK(AwaitSync(on_a_, *made));
  EXPECT_EQ(b_.Data(image_), 7);
}

TEST_F(SyncTest, OfSeveralPeersEachMustHaveIt) {
  a_.AddPeer({"peer-c", "site-c", "mirror-c"});
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  world_.Advance(minutes(1));
  deadline_ = seconds(10);
  EXPECT_THAT(AwaitSync(on_a_, *made),
              StatusIs(kUnavailable, AllOf(HasSubstr("at site 'site-c': no "
                                                     "report"),
                                           Not(HasSubstr("site-b")))));
  const auto say = [&](int64_t copied) {
    a_.SetStatus(image_, "mirror-c", MirrorStatusState::kReplaying,
                 absl::StrCat(R"(replaying, {"replay_state":"idle",)",
                              R"("local_snapshot_timestamp":)", copied, "}"));
  };
  say(made->created - 1);
  EXPECT_THAT(AwaitSync(on_a_, *made),
              StatusIs(kUnavailable, HasSubstr("site-c")));
  say(made->created);
  EXPECT_OK(AwaitSync(on_a_, *made));
}

// --- who refuses

TEST_F(SyncTest, ASecondaryNamesTheSiteToAsk) {
  EXPECT_THAT(
      MakeSync(on_b_),
      StatusIs(kFailedPrecondition, AllOf(HasSubstr("secondary on this site"),
                                          HasSubstr("on site 'site-a'"))));
}

TEST_F(SyncTest, AVolumeThatIsNotReplicatedIsRefused) {
  ASSERT_OK(Disable(on_a_));
  EXPECT_THAT(MakeSync(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("enable it first")));
}

TEST_F(SyncTest, AnImageThatIsGoneIsSaid) {
  a_.RemoveImage(image_);
  EXPECT_THAT(MakeSync(on_a_), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(AwaitSync(on_a_, {1, 1}), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SyncTest, TheLimitOfItsSnapshotsIsNamed) {
  a_.AddSnapshot(image_, "restore-point", SnapshotKind::kUser);
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size() + 1);
  EXPECT_THAT(
      MakeSync(on_a_),
      StatusIs(kFailedPrecondition, AllOf(HasSubstr("a sync makes one more"),
                                          HasSubstr("rbd snap limit"))));
  EXPECT_EQ(Made(), 0);
}

TEST_F(SyncTest, AFullPoolIsNamed) {
  Fail(kMake, EDQUOT, 100);
  EXPECT_THAT(MakeSync(on_a_), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr("the pool is full")));
}

TEST_F(SyncTest, ACloneWhoseCopyIsNotWholeIsRefused) {
  a_.AddImage(MirroredPair::kPool, "", "golden");
  a_.EnableMirroring("golden");
  const std::string uuid = "b891b493-7754-470d-b2a0-4ca18f698b29";
  a_.AddClone("golden", MirroredPair::ImageOf(uuid));
  pair_.AddJournal(a_, uuid);
  a_.EnableMirroring(MirroredPair::ImageOf(uuid));
  id_ = pair_.VolumeId(a_, uuid);
  EXPECT_THAT(MakeSync(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("parent")));
}

TEST_F(SyncTest, APeerInSplitBrainIsNamed) {
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  b_.ForceSplitBrain(image_);
  world_.Advance(minutes(2));
  const SyncSnapshot later{made->id + 100, made->created + 3600};
  EXPECT_THAT(AwaitSync(on_a_, later),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("site 'site-b' reports a split brain"),
                             HasSubstr("resynced"))));
}

TEST_F(SyncTest, ASiteThatIsDemotedMeanwhileTellsNothingMore) {
  const auto made = MakeSync(on_a_);
  ASSERT_OK(made);
  ASSERT_OK(Demote(on_a_));
  EXPECT_THAT(AwaitSync(on_a_, *made),
              StatusIs(kFailedPrecondition, HasSubstr("not primary")));
}

/// Replication runs from a to b alone.
class OneWaySyncTest : public SyncTest {
 protected:
  static MirroredPairOptions OneWay() {
    MirroredPairOptions options;
    options.one_way = true;
    return options;
  }
  OneWaySyncTest() : SyncTest(OneWay()) {}
};

TEST_F(OneWaySyncTest, ASiteThatOnlyReceivesHasNothingToSend) {
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_, Force::kYes));
  world_.Advance(minutes(1));
  world_.AdvanceToSecond(30);
  EXPECT_THAT(MakeSync(on_b_), StatusIs(kFailedPrecondition,
                                        HasSubstr("no peer that receives")));
}

class JournalSyncTest : public VerbsTest {};

TEST_F(JournalSyncTest, InJournalModeThereIsNothingToMake) {
  AddPlain();
  pair_.AddJournal(b_, kUuid);
  ASSERT_OK(Enable(on_a_, {{"mirroringMode", "journal"}}));
  EXPECT_THAT(MakeSync(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("journal mode"),
                             HasSubstr("no mirror snapshot to make"))));
}

}  // namespace
}  // namespace addons::testing
