// What a verb does when another daemon works on the same volume, did so a
// moment ago, or died there.

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "lease/keeper.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TwoDaemonsTest : public VerbsTest {
 protected:
  /// A keeper of another process: of another machine, so that nothing is known
  /// of it, or one of this machine that is no more.
  enum class Process { kElsewhere, kDead };
  void StartOther(Process process) {
    LeaseOptions options;
    options.instance = "other";
    if (process == Process::kElsewhere) {
      options.self = {"far", "another-boot", "1", 7, 7};
    } else {
      options.self.pid = 1 << 23;  // no pid is so large
    }
    other_ = std::make_unique<LeaseKeeper>(world_, options);
  }
  std::shared_ptr<LeaseKeeper::Held> TakeByOther(FakeSite& site) {
    other_cluster_ = FakeClusterProvider(world_).Get(site);
    ResolvedVolume volume;
    volume.cluster = other_cluster_;
    volume.pool_id = pair_.pool_id(site);
    volume.pool_name = MirroredPair::kPool;
    volume.uuid = kUuid;
    const auto outcome = other_->TryTake(LeaseOf(volume), "promote");
    EXPECT_OK(outcome);
    return outcome.ok() ? outcome->lease : nullptr;
  }
  /// It has the image open for writing.
  std::unique_ptr<Image> OpenByOther(FakeSite& site) {
    const auto pool =
        *other_cluster_->OpenPool(pair_.pool_id(site), "", Access::kMutate);
    return *pool->OpenImage(ImageName(image_));
  }
  /// Before the first lease is taken, when the verb has looked already.
  void BeforeTheLease(std::function<void()> action) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    world_.SetCallHook([action = std::move(action), done](
                           absl::string_view, absl::string_view call, bool) {
      if (call == "rados_lock_exclusive" && !done->exchange(true)) {
        action();
      }
      return 0;
    });
  }

  bool HasLease() const {
    return a_.HasOmap(MirroredPair::kPool, "",
                      absl::StrCat("rbd_addons.lease.", kUuid));
  }

  std::unique_ptr<LeaseKeeper> other_;
  std::shared_ptr<Cluster> other_cluster_;
};

TEST_F(TwoDaemonsTest, OneThatWorksIsNamedAndNothingIsChanged) {
  AddMirrored();
  StartOther(Process::kElsewhere);
  const auto lease = TakeByOther(a_);
  const auto busy =
      StatusIs(absl::StatusCode::kAborted,
               AllOf(HasSubstr("another daemon is at work"),
                     HasSubstr("'promote' by instance 'other' on host 'far'")));
  EXPECT_THAT(Demote(on_a_), busy);
  other_->RenewDue();
  EXPECT_THAT(Disable(on_a_), busy);
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(TwoDaemonsTest, ItIsWaitedFor) {
  AddMirrored();
  StartOther(Process::kElsewhere);
  const auto lease = TakeByOther(a_);
  world_.Schedule(seconds(5), [&] { other_->GiveBack(lease); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(TwoDaemonsTest, WhatItHasOpenIsNoWorkloadButItIsWaitedFor) {
  AddMirrored();
  StartOther(Process::kElsewhere);
  const auto lease = TakeByOther(a_);
  const auto image = OpenByOther(a_);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kAborted));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(image->Close());
}

TEST_F(TwoDaemonsTest, APredecessorThatDiedIsNotInTheWay) {
  AddMirrored();
  StartOther(Process::kDead);
  TakeByOther(a_);
  // Its watch lives for 30 s.
  const auto image = OpenByOther(a_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_LT(took_, seconds(5));
  EXPECT_OK(image->Close());
}

TEST_F(TwoDaemonsTest, AClientThatHasNoLeaseIsAWorkload) {
  AddMirrored();
  StartOther(Process::kDead);
  a_.AddWatcher(image_, "10.0.0.7:0/1", 9999);
  TakeByOther(a_);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("10.0.0.7")));
}

TEST_F(TwoDaemonsTest, WhatAnotherDaemonHasDoneMeanwhileIsSeen) {
  AddMirrored();
  world_.Advance(seconds(40));
  Daemon second(world_, pair_, a_);
  BeforeTheLease([&] {
    TestOperationContext context(world_);
    EXPECT_OK(
        addons::Demote(context, second.environment(), {second.Target(id_)}));
  });
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 1);
}

TEST_F(TwoDaemonsTest, EnableByBothEnablesOnce) {
  AddPlain();
  Daemon second(world_, pair_, a_);
  BeforeTheLease([&] {
    TestOperationContext context(world_);
    EXPECT_OK(addons::Enable(
        context, second.environment(),
        {second.Target(id_), *ReplicationParameters::Parse({})}));
  });
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_enable2"), 1);
}

// The lease comes before the look where this process saw the volume last in
// the role that the verb changes; that may be long ago.
TEST_F(TwoDaemonsTest, ARoleThatHasChangedSinceCostsALeaseAndNothingElse) {
  AddMirrored();
  ASSERT_OK(Info(on_a_));
  a_.Demote(image_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rados_lock_exclusive"), 1);
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_FALSE(HasLease());
}

TEST_F(TwoDaemonsTest, WhereNothingIsToBeDoneNobodyWaitsForALease) {
  AddMirrored();
  ASSERT_OK(Info(on_a_));
  a_.Demote(image_);
  StartOther(Process::kElsewhere);
  const auto lease = TakeByOther(a_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_LT(took_, seconds(1));
}

TEST_F(TwoDaemonsTest, AnOtherRoleThanTheVerbChangesIsLookedAtWithoutALease) {
  AddMirrored();
  ASSERT_OK(Info(on_a_));
  EXPECT_OK(Enable(on_a_));
  EXPECT_OK(Demote(on_a_));
  world_.ClearCalls();
  EXPECT_OK(Demote(on_a_));
  EXPECT_OK(Promote(on_b_, Force::kNo));
  EXPECT_EQ(world_.CountCalls("a", "rados_lock_exclusive"), 0);
}

TEST_F(TwoDaemonsTest,
       ALeaseThatWasTakenBeforeTheLookIsGivenBackAfterARefusal) {
  AddMirrored();
  ASSERT_OK(Info(on_a_));
  a_.AddWatcher(image_, "10.0.0.7:0/77", 4711);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(HasLease());
  EXPECT_TRUE(a_.Info(image_).primary);
}

TEST_F(TwoDaemonsTest, NoLeaseStaysBehind) {
  AddPlain();
  EXPECT_OK(Enable(on_a_));
  EXPECT_OK(Disable(on_a_));
  EXPECT_FALSE(HasLease());
}

TEST_F(TwoDaemonsTest, AUserThatMayNotLockChangesNothing) {
  AddMirrored();
  Fail("rados_lock_exclusive", EPERM, 100);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kPermissionDenied,
                                      HasSubstr("lease")));
  EXPECT_TRUE(a_.Info(image_).primary);
}

// librbd says EINVAL when somebody else was faster: what is there decides.
TEST_F(TwoDaemonsTest, AfterEinvalTheImageSaysWhatIsTrue) {
  const auto answer_einval = [this](const std::string& changing) {
    world_.SetCallHook(
        nullptr, [changing](absl::string_view, absl::string_view call, bool) {
          return call == changing ? EINVAL : 0;
        });
  };
  AddPlain();
  answer_einval("rbd_mirror_image_enable2");
  EXPECT_OK(Enable(on_a_));
  pair_.AddJournal(b_, kUuid);
  world_.Advance(seconds(60));
  answer_einval("rbd_mirror_image_demote");
  EXPECT_OK(Demote(on_a_));
  EXPECT_FALSE(a_.Info(image_).primary);
}

TEST_F(TwoDaemonsTest, EinvalThatNothingExplainsIsInternal) {
  AddPlain();
  Fail("rbd_mirror_image_enable2", EINVAL, 1);
  EXPECT_THAT(Enable(on_a_), StatusIs(absl::StatusCode::kInternal));
  EXPECT_OK(Enable(on_a_));
  world_.Advance(seconds(60));
  Fail("rbd_mirror_image_demote", EINVAL, 1);
  EXPECT_THAT(Demote(on_a_), StatusIs(absl::StatusCode::kInternal));
  EXPECT_TRUE(a_.Info(image_).primary);
}

}  // namespace
}  // namespace addons::testing
