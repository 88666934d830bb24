// What the contract suite cannot show on real clusters within its time: faults,
// races with rbd-mirror, and the tools for tests themselves. The numbers behind
// the mirroring cases were measured on 16.2.15.

#include "tests/fakes/fake_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ceph/errors.h"
#include "ceph/pool.h"
#include "tests/fakes/fake_site.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::IsOk;
using ::addons::testing::StatusIs;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

class FakeWorldTest : public ::testing::Test {
 protected:
  void SetUp() override { pair_.AddMirroredVolume(a_, kUuid); }

  std::unique_ptr<Pool> OpenPool(FakeSite& site, Access access) {
    return *pair_.cluster(site)->OpenPool(pair_.pool_id(site), "", access);
  }
  std::unique_ptr<Image> Writable(FakeSite& site) {
    return *OpenPool(site, Access::kMutate)->OpenImage(ImageName(image_));
  }
  absl::Status Promote(FakeSite& site, Force force) {
    return Writable(site)->MirrorPromote(force);
  }
  MirrorSnapshot Newest(FakeSite& site) {
    return site.Snapshots(image_).back();
  }
  /// The process dies between the two changes that this call makes.
  void DieWithin(const std::string& call) {
    world_.SetCallHook(
        nullptr, nullptr,
        [call](absl::string_view, absl::string_view made, bool) -> int {
          if (made == call) throw FakeCrash();
          return 0;
        });
  }
  /// Of the rbd-mirrors on this cluster.
  std::set<std::string> Clients(FakeSite& site) {
    const auto watchers =
        OpenPool(site, Access::kRead)->ListWatchers("rbd_mirroring").value();
    std::set<std::string> addresses;
    for (const Watcher& watcher : watchers) addresses.insert(watcher.address);
    return addresses;
  }
  /// That of the site's own, which holds the image there.
  std::string AddressOfMirror(FakeSite& site) {
    return OpenPool(site, Access::kRead)
        ->OpenImageReadOnly(ImageName(image_))
        .value()
        ->Lockers()
        .value()
        .front()
        .address;
  }
  SiteStatus Local(FakeSite& site) { return site.Status(image_).front(); }

  /// b has copied some of what a contains now, its daemon is as given.
  void StopMidCopy(MirrorSnapshotKind kind, DaemonState state) {
    world_.Advance(seconds(40));
    b_.SetCopySpeed(4);
    ASSERT_OK(a_.Write(image_, 2));
    if (kind == MirrorSnapshotKind::kNonPrimaryDemoted) {
      a_.Demote(image_);
    } else {
      a_.CreateMirrorSnapshot(image_);
    }
    world_.Advance(seconds(4));
    ASSERT_EQ(Newest(b_).kind, kind);
    ASSERT_FALSE(Newest(b_).complete);
    ASSERT_GT(Newest(b_).last_copied_object, 0U);
    b_.SetMirrorDaemon(state);
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& a_ = pair_.a();
  FakeSite& b_ = pair_.b();
  const std::string image_ = MirroredPair::ImageOf(kUuid);
};

// --- promotions that lose data

TEST_F(FakeWorldTest,
       PlainPromotionOfHalfADemotionSucceedsWhenTheDaemonIsFrozen) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kFrozen);
  const SteadyTime begin = world_.Now();
  EXPECT_OK(Promote(b_, Force::kNo));
  EXPECT_GT(world_.Now() - begin, seconds(30));
  EXPECT_TRUE(b_.Torn(image_));
}

TEST_F(FakeWorldTest,
       PlainPromotionOfHalfADemotionIsRefusedWhileTheDaemonCopies) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kRunning);
  EXPECT_EQ(CephErrno(Promote(b_, Force::kNo)), EROFS);
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(FakeWorldTest, ForcedPromotionOfHalfADemotionIsNotRolledBack) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimaryDemoted, DaemonState::kDown);
  EXPECT_OK(Promote(b_, Force::kYes));
  EXPECT_TRUE(b_.Torn(image_));
}

TEST_F(FakeWorldTest, ForcedPromotionOfHalfACopyGoesBackOneCopyTooFar) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
  EXPECT_OK(Promote(b_, Force::kYes));
  EXPECT_FALSE(b_.Torn(image_));
  EXPECT_EQ(b_.Data(image_), 0U)
      << "what was there before content 1 was copied";
}

TEST_F(FakeWorldTest, HalfACopyStillHoldsTheLastWholeState) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kDown);
  EXPECT_EQ(b_.SnapshotData(image_, Newest(b_).id), 1U);
}

TEST_F(FakeWorldTest, ForcedPromotionHangsWhileTheDaemonCopiesFromADeadPeer) {
  StopMidCopy(MirrorSnapshotKind::kNonPrimary, DaemonState::kRunning);
  a_.SetClusterUp(false);
  world_.Schedule(minutes(10),
                  [this] { b_.SetMirrorDaemon(DaemonState::kDown); });
  const SteadyTime begin = world_.Now();
  EXPECT_OK(Promote(b_, Force::kYes));
  EXPECT_GT(world_.Now() - begin, minutes(10));
}

TEST_F(FakeWorldTest, ForcedPromotionOfAnIdleCopyKeepsItsContent) {
  a_.SetClusterUp(false);
  world_.Advance(minutes(1));
  EXPECT_OK(Promote(b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Data(image_), 1U);
}

TEST_F(FakeWorldTest,
       PromotionRightAfterTheDemotionArrivedIsReadOnlyForAMoment) {
  a_.Demote(image_);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return Newest(b_).demoted() && Newest(b_).complete; },
      seconds(10)));
  EXPECT_EQ(CephErrno(Promote(b_, Force::kNo)), EROFS);
  world_.Advance(seconds(2));
  EXPECT_OK(Promote(b_, Force::kNo));
}

TEST_F(FakeWorldTest, BothSidesCanBePromotedAfterADemotion) {
  a_.Demote(image_);
  world_.Advance(seconds(5));
  EXPECT_OK(Promote(a_, Force::kNo));
  EXPECT_OK(Promote(b_, Force::kNo));
}

// --- demotion and resync

TEST_F(FakeWorldTest, DemotionMayAnswerOkAndBeIncomplete) {
  a_.LeaveNextSnapshotIncomplete(image_);
  EXPECT_OK(Writable(a_)->MirrorDemote());
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
  EXPECT_FALSE(Newest(a_).complete);
  world_.Advance(minutes(2));
  EXPECT_EQ(Newest(b_).kind, MirrorSnapshotKind::kNonPrimary)
      << "it is never copied";
}

TEST_F(FakeWorldTest, DemotionSucceedsInSpiteOfAWriter) {
  a_.AddWatcher(image_, "10.1.1.1:0/7", 7);
  a_.AddLocker(image_, "10.1.1.1:0/7", 7, FakeSite::LockKind::kAutomatic);
  EXPECT_OK(Writable(a_)->MirrorDemote());
  EXPECT_EQ(CephErrno(a_.Write(image_, 9)), EROFS);
}

TEST_F(FakeWorldTest, ExplicitLockRefusesADemotion) {
  a_.AddWatcher(image_, "10.1.1.1:0/7", 7);
  a_.AddLocker(image_, "10.1.1.1:0/7", 7, FakeSite::LockKind::kExplicit);
  EXPECT_EQ(CephErrno(Writable(a_)->MirrorDemote()), EROFS);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(FakeWorldTest, ResyncWithoutAPrimaryWaitsForOne) {
  a_.Demote(image_);
  world_.Advance(seconds(10));
  const std::string id = b_.ImageId(image_);
  EXPECT_OK(Writable(b_)->MirrorResync());
  world_.Advance(minutes(5));
  ASSERT_TRUE(b_.HasImage(image_));
  EXPECT_EQ(b_.ImageId(image_), id);
  EXPECT_OK(Writable(a_)->MirrorPromote(Force::kNo));
  world_.Advance(minutes(2));
  ASSERT_TRUE(b_.HasImage(image_));
  EXPECT_NE(b_.ImageId(image_), id);
}

TEST_F(FakeWorldTest, ResyncWaitsForTheHandlesOfTheDeletedImage) {
  const auto handle = Writable(b_);
  EXPECT_OK(handle->MirrorResync());
  world_.Advance(minutes(2));
  EXPECT_FALSE(b_.HasImage(image_));
  EXPECT_OK(handle->Close());
  world_.Advance(seconds(30));
  EXPECT_TRUE(b_.HasImage(image_));
}

TEST_F(FakeWorldTest, ResyncRequestStaysWhileThePeerIsDown) {
  a_.SetClusterUp(false);
  EXPECT_OK(Writable(b_)->MirrorResync());
  world_.Advance(minutes(5));
  EXPECT_TRUE(b_.HasImage(image_));
  EXPECT_THAT(*Writable(b_)->ListMetadata(".rbd_mirror."), SizeIs(1));
}

TEST_F(FakeWorldTest, ForcedDisableOfASecondaryIsASplitBrain) {
  EXPECT_OK(Writable(b_)->MirrorDisable(Force::kYes));
  world_.Advance(seconds(40));
  EXPECT_THAT(a_.Status(image_), Contains(Field(&SiteStatus::description,
                                                HasSubstr("split-brain"))));
}

// --- statuses

TEST_F(FakeWorldTest, StatusOfAFrozenDaemonTurnsDown) {
  world_.Advance(seconds(40));
  a_.SetMirrorDaemon(DaemonState::kFrozen);
  world_.Advance(seconds(20));
  EXPECT_TRUE(b_.Status(image_).back().up);
  world_.Advance(seconds(20));
  const SiteStatus stale = b_.Status(image_).back();
  EXPECT_FALSE(stale.up);
  EXPECT_EQ(stale.description, "local image is primary");
}

TEST_F(FakeWorldTest, SecondaryOfADeadSiteGoesOnReplaying) {
  world_.Advance(seconds(40));
  a_.SetClusterUp(false);
  const int64_t before = Local(b_).last_update;
  world_.Advance(minutes(2));
  EXPECT_TRUE(Local(b_).up);
  EXPECT_EQ(Local(b_).state, MirrorStatusState::kReplaying);
  EXPECT_GT(Local(b_).last_update, before);
  EXPECT_FALSE(b_.Status(image_).back().up);
}

TEST_F(FakeWorldTest, StatusesLagBehindADemotion) {
  world_.Advance(seconds(45));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  a_.Demote(image_);
  world_.Advance(seconds(2));
  EXPECT_EQ(Local(b_).state, MirrorStatusState::kReplaying);
  EXPECT_EQ(b_.Status(image_).back().description, "local image is primary");
}

TEST_F(FakeWorldTest, SplitBrainIsAnErrorOfTheSecondary) {
  a_.ForceSplitBrain(image_);
  world_.Advance(minutes(1));
  EXPECT_EQ(Local(a_).state, MirrorStatusState::kError);
  EXPECT_EQ(Local(a_).description, "split-brain");
  EXPECT_TRUE(b_.Info(image_).primary);
}

TEST_F(FakeWorldTest, StampsFollowTheSkewOfTheSitesClock) {
  b_.SetClockSkew(seconds(3600));
  world_.Advance(seconds(40));
  EXPECT_GT(b_.Status(image_).back().last_update,
            a_.Status(image_).front().last_update + 3000);
}

TEST(FakeWorldOneWayTest, TargetSeesNoStatusOfTheSource) {
  FakeWorld world;
  MirroredPair pair(world, {.one_way = true});
  pair.AddMirroredVolume(pair.a(), kUuid);
  world.Advance(minutes(1));
  const auto statuses = pair.b().Status(MirroredPair::ImageOf(kUuid));
  ASSERT_THAT(statuses, SizeIs(1));
  EXPECT_TRUE(statuses.front().local());
}

// --- clusters that fail

TEST_F(FakeWorldTest, ReadsOfADeadClusterTimeOut) {
  const auto pool = OpenPool(a_, Access::kRead);
  a_.SetClusterUp(false);
  const SteadyTime begin = world_.Now();
  EXPECT_THAT(pool->OpenImageReadOnly(ImageName(image_)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(world_.Now() - begin, seconds(10));
}

TEST_F(FakeWorldTest, MutationsOfADeadClusterHangUntilItIsBack) {
  const auto image = Writable(a_);
  a_.SetClusterUp(false);
  world_.Schedule(minutes(3), [this] { a_.SetClusterUp(true); });
  EXPECT_OK(image->MirrorDemote());
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(FakeWorldTest, DeadClusterRefusesConnections) {
  a_.SetClusterUp(false);
  FakeClusterProvider other_process(world_);
  EXPECT_THAT(other_process.Connect(a_.target(), a_.user()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(FakeWorldTest, WrongKeyIsUnauthenticated) {
  EXPECT_THAT(pair_.provider().Connect(a_.target(), b_.user()),
              StatusIs(absl::StatusCode::kUnauthenticated));
  EXPECT_THAT(pair_.provider().Connect(
                  a_.target(), MakeCephUser("csi-rbd", Secret("no key"))),
              StatusIs(absl::StatusCode::kUnauthenticated));
}

TEST_F(FakeWorldTest, HungManagerTimesOut) {
  a_.SetMgrUp(false);
  EXPECT_THAT(pair_.cluster(a_)->MgrCommand(R"({"prefix": "rbd task list"})"),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(FakeWorldTest, StartingManagerModuleAsksToTryAgain) {
  a_.SetMgrModuleReady(false);
  EXPECT_EQ(CephErrno(pair_.cluster(a_)
                          ->MgrCommand(R"({"prefix": "rbd task list"})")
                          .status()),
            EAGAIN);
}

TEST_F(FakeWorldTest, BlocklistedConnectionIsReplacedOnceItWasNoticed) {
  const auto cluster = pair_.cluster(a_);
  const auto pool = *cluster->OpenPool(2, "", Access::kRead);
  const auto before = cluster->OwnClientIds();
  a_.BlocklistClients();
  EXPECT_EQ(CephErrno(pool->MirrorMode().status()), kBlocklistedErrno);
  EXPECT_OK((*cluster->OpenPool(2, "", Access::kRead))->MirrorMode());
  EXPECT_NE(cluster->OwnClientIds(), before);
  EXPECT_EQ(CephErrno(pool->MirrorMode().status()), kBlocklistedErrno);
}

TEST_F(FakeWorldTest, NeedlessWritableOpenTakesReplicationDown) {
  world_.Advance(seconds(40));
  b_.SetNeedlessOpenBlocklists(true);
  EXPECT_OK(Writable(b_)->Close());
  EXPECT_FALSE(Local(b_).up);
  world_.Advance(minutes(3));
  EXPECT_TRUE(Local(b_).up);
}

// --- tools for tests

TEST_F(FakeWorldTest, HookBeforeACallPreventsIt) {
  world_.SetCallHook([](absl::string_view site, absl::string_view call,
                        bool mutation) {
    return site == "a" && call == "rbd_mirror_image_demote" && mutation ? EBUSY
                                                                        : 0;
  });
  EXPECT_EQ(CephErrno(Writable(a_)->MirrorDemote()), EBUSY);
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(FakeWorldTest, HookAfterACallLeavesItsEffect) {
  world_.SetCallHook(nullptr,
                     [](absl::string_view, absl::string_view call, bool) {
                       return call == "rbd_mirror_image_demote" ? ETIMEDOUT : 0;
                     });
  EXPECT_EQ(CephErrno(Writable(a_)->MirrorDemote()), ETIMEDOUT);
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(FakeWorldTest, DeadProcessLeavesItsWatchForAWhile) {
  world_.SetCallHook(
      [](absl::string_view, absl::string_view call, bool) -> int {
        if (call == "rbd_mirror_image_demote") throw FakeCrash();
        return 0;
      });
  EXPECT_THROW(Writable(a_)->MirrorDemote().IgnoreError(), FakeCrash);
  world_.SetCallHook(nullptr);
  FakeClusterProvider next_process(world_);
  const auto pool = *next_process.Get(a_)->OpenPool(2, "", Access::kRead);
  EXPECT_THAT(*(*pool->OpenImageReadOnly(ImageName(image_)))->Watchers(),
              SizeIs(2));
  world_.Advance(seconds(31));
  EXPECT_THAT(*(*pool->OpenImageReadOnly(ImageName(image_)))->Watchers(),
              SizeIs(1));
}

TEST_F(FakeWorldTest, CallsAreRecorded) {
  world_.ClearCalls();
  EXPECT_OK(Writable(a_)->Close());
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 1);
  EXPECT_EQ(world_.CountCalls("b", "rbd_open"), 0);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(FakeWorldTest, MutationThroughAReadOnlyHandleIsAViolation) {
  const auto image =
      *OpenPool(a_, Access::kMutate)->OpenImageReadOnly(ImageName(image_));
  EXPECT_FALSE(image->MirrorDemote().ok());
  EXPECT_THAT(world_.Violations(), ElementsAre(HasSubstr("read-only handle")));
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(FakeWorldTest, MutationBeforeBeginMutationIsAViolation) {
  TestOperationContext context(world_);
  EXPECT_OK(Writable(a_)->MirrorDemote());
  EXPECT_THAT(world_.Violations(), SizeIs(1));
  ASSERT_OK(context.BeginMutation());
  EXPECT_OK(Writable(a_)->MirrorPromote(Force::kNo));
  EXPECT_THAT(world_.Violations(), SizeIs(1));
}

TEST_F(FakeWorldTest, SleepEndsAtOnceWhenStopWasRequested) {
  const auto stop = std::make_unique<std::stop_source>();
  world_.Schedule(seconds(5), [&] { stop->request_stop(); });
  const SteadyTime begin = world_.Now();
  EXPECT_FALSE(world_.SleepFor(minutes(10), stop->get_token()));
  EXPECT_EQ(world_.Now() - begin, seconds(5));
}

TEST_F(FakeWorldTest, ContextsWaitIsCutAtTheDeadlineBeforeMutation) {
  TestOperationContext context(world_);
  context.SetDeadline(seconds(10));
  EXPECT_OK(context.SleepFor(seconds(9)));
  EXPECT_THAT(context.SleepFor(seconds(9)),
              StatusIs(absl::StatusCode::kCancelled, "deadline"));
  EXPECT_EQ(context.slept(), seconds(10));
  EXPECT_THAT(context.BeginMutation(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(context.LatestDeadline(), std::nullopt);
}

TEST_F(FakeWorldTest, ContextsDeadlineDoesNotCutAMutation) {
  TestOperationContext context(world_);
  context.SetDeadline(seconds(10));
  ASSERT_OK(context.BeginMutation());
  EXPECT_OK(context.SleepFor(minutes(5)));
}

TEST_F(FakeWorldTest, ContextIsSupersededUntilItMutates) {
  TestOperationContext context(world_);
  context.SupersedeAfter(seconds(3));
  EXPECT_THAT(context.SleepFor(seconds(5)),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(FakeWorldTest, ContextsCancelStopsAMutationToo) {
  TestOperationContext context(world_);
  context.CancelAfter(seconds(3));
  ASSERT_OK(context.BeginMutation());
  EXPECT_THAT(context.SleepFor(seconds(5)),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE(context.stop_token().stop_requested());
}

// --- a death inside librbd

TEST_F(FakeWorldTest, ADeathInsideADemotionLeavesAPrimaryThatRefusesWrites) {
  DieWithin("rbd_mirror_image_demote");
  EXPECT_THROW((void)Writable(a_)->MirrorDemote(), FakeCrash);
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimary);
  EXPECT_EQ(CephErrno(a_.Write(image_, 2)), EROFS);
  EXPECT_OK(Writable(a_)->MirrorDemote());
  EXPECT_EQ(Newest(a_).kind, MirrorSnapshotKind::kPrimaryDemoted);
}

TEST_F(FakeWorldTest, ADeathInsideAPromotionLeavesAPrimaryThatRefusesWrites) {
  a_.Demote(image_);
  world_.Advance(minutes(1));
  DieWithin("rbd_mirror_image_promote");
  EXPECT_THROW((void)Promote(b_, Force::kNo), FakeCrash);
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(CephErrno(b_.Write(image_, 2)), EROFS);
  EXPECT_EQ(CephErrno(Promote(b_, Force::kNo)), EINVAL);
}

TEST_F(FakeWorldTest, APromotionAtTheSnapshotLimitLeavesACopyThatTakesWrites) {
  a_.Demote(image_);
  world_.Advance(minutes(1));
  b_.SetSnapshotLimit(image_, b_.Snapshots(image_).size());
  EXPECT_OK(Promote(b_, Force::kNo));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_OK(b_.Write(image_, 2));
}

// --- rbd-mirrors that go and come

TEST_F(FakeWorldTest, ARbdMirrorThatDiedReplaysWhenTheLeadersLockHasEnded) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  world_.Advance(seconds(5));
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(seconds(5));
  // Its old watch lives, so nothing was removed; the new one is there, too.
  EXPECT_TRUE(Local(b_).up);
  EXPECT_THAT(Clients(b_), SizeIs(3));
  world_.Advance(seconds(25));
  EXPECT_FALSE(Local(b_).up);
  EXPECT_EQ(Local(b_).state, MirrorStatusState::kReplaying);
  EXPECT_THAT(Clients(b_), SizeIs(2));
  world_.Advance(seconds(25));
  EXPECT_TRUE(Local(b_).up);
}

TEST_F(FakeWorldTest, ABlocklistedRbdMirrorBeginsAnewOnBothSites) {
  const auto before = Clients(a_);
  const auto there = Clients(b_);
  b_.AddBlocklistEntry("10.0.0.1:0/1", seconds(1));  // of nobody
  EXPECT_EQ(Clients(a_), before);
  ASSERT_OK(pair_.cluster(b_)->MonCommand(
      absl::StrCat(R"({"prefix": "osd blocklist", "blocklistop": "add", )",
                   R"("addr": ")", AddressOfMirror(b_), R"("})")));
  for (FakeSite* const site : {&a_, &b_}) {
    EXPECT_THAT(site->Status(image_), Contains(Field(&SiteStatus::up, false)))
        << site->name();
  }
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] {
        return a_.Status(image_).size() == 1 && b_.Status(image_).size() == 1;
      },
      minutes(2)));
  EXPECT_NE(Clients(a_), before);
  EXPECT_NE(Clients(b_), there);
  world_.Advance(seconds(30));
  EXPECT_TRUE(Local(b_).up);
}

TEST_F(FakeWorldTest, SnapshotsInTheJournalNamespaceAreCopiedToo) {
  constexpr char kOther[] = "892ea53a-f435-4550-b697-2182e85e71c5";
  const std::string id = pair_.AddMirroredVolume(a_, kOther, uint64_t{64} << 20,
                                                 MirroredPair::kNamespace);
  EXPECT_TRUE(absl::StartsWith(id, "0001-0009-site-a-ns-0000000000000002-"));
  const auto pool =
      *pair_.cluster(b_)->OpenPool(3, MirroredPair::kNamespace, Access::kRead);
  EXPECT_THAT(
      *pool->ReadOmap(std::string("csi.volume.") + kOther, "csi.image"),
      Contains(Pair("csi.imageid", b_.ImageId(MirroredPair::ImageOf(kOther)))));
}

// A walk found it: the first copy of an image that was made anew kept what the
// site from which it came had been given by a copy that it had removed since.
TEST(ModelImageTest, ASnapshotThatIsRemovedHandsItsChangesToTheNextOne) {
  model::Image image;
  image.content = {1};
  const auto take = [&image](uint64_t id) {
    model::Snapshot snapshot;
    snapshot.info.id = id;
    snapshot.content = image.content;
    image.MapSnapshot(&snapshot);
    image.snapshots.push_back(snapshot);
  };
  take(1);
  image.content = {2};
  take(2);
  take(3);
  ASSERT_FALSE(image.LeavesOut(image.snapshots[0], image.snapshots[2], 0));
  image.RemoveSnapshots(
      [](const model::Snapshot& snapshot) { return snapshot.info.id == 2; });
  ASSERT_EQ(image.snapshots.size(), 2U);
  EXPECT_FALSE(image.LeavesOut(image.snapshots[0], image.snapshots[1], 0));
}

TEST_F(FakeWorldTest, ThreadsShareTheWorld) {
  std::atomic<int> failures{0};
  std::vector<std::jthread> threads;
  for (FakeSite* const site : {&a_, &b_, &a_, &b_}) {
    threads.emplace_back([&, site] {
      for (int i = 0; i < 50; ++i) {
        const auto image = OpenPool(*site, Access::kRead)
                               ->OpenImageReadOnly(ImageName(image_));
        if (!image.ok() || !(*image)->MirrorStatus().ok()) ++failures;
        world_.Advance(seconds(1));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace addons
