// A verb that waits for a state gives its worker back meanwhile.

#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "lease/keeper.h"
#include "tests/unit/replication/group/group_fixture.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// Of all tests here: the verb has waited, and how it did.
class WaitingTest : public VerbsTest {
 protected:
  void TearDown() override {
    EXPECT_GT(took_, SteadyDuration::zero());
    EXPECT_EQ(held_worker_, SteadyDuration::zero());
    VerbsTest::TearDown();
  }
  /// The lease on the volume, from the daemon of another machine.
  std::shared_ptr<LeaseKeeper::Held> TakeElsewhere(FakeSite& site) {
    LeaseOptions options;
    options.instance = "other";
    options.self = {"far", "another-boot", "1", 7, 7};
    other_ = std::make_unique<LeaseKeeper>(world_, options);
    ResolvedVolume volume;
    volume.cluster = FakeClusterProvider(world_).Get(site);
    volume.pool_id = pair_.pool_id(site);
    volume.pool_name = MirroredPair::kPool;
    volume.uuid = kUuid;
    const auto outcome = other_->TryTake(LeaseOf(volume), "promote");
    EXPECT_OK(outcome);
    return outcome.ok() ? outcome->lease : nullptr;
  }
  /// It is given back after a while.
  void HoldLease(FakeSite& site) {
    lease_ = TakeElsewhere(site);
    world_.Schedule(seconds(7), [this] { other_->GiveBack(lease_); });
  }
  void MgrIsAwayFor(SteadyDuration duration) {
    const SteadyTime until = world_.Now() + duration;
    world_.SetCallHook(
        [this, until](absl::string_view, absl::string_view call, bool) {
          return call == "rados_mgr_command" && world_.Now() < until ? ETIMEDOUT
                                                                     : 0;
        });
  }

 private:
  std::unique_ptr<LeaseKeeper> other_;
  std::shared_ptr<LeaseKeeper::Held> lease_;
};

TEST_F(WaitingTest, PromoteForTheDemotion) {
  AddMirrored();
  world_.Schedule(seconds(5), [this] { a_.Demote(image_); });
  EXPECT_OK(Promote(on_b_));
}

TEST_F(WaitingTest, DemoteForAFollower) {
  AddMirrored();
  ASSERT_OK(Demote(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(Promote(on_b_));
  world_.Schedule(seconds(5),
                  [this] { a_.SetMirrorDaemon(DaemonState::kRunning); });
  EXPECT_OK(Demote(on_b_));
}

TEST_F(WaitingTest, DemoteForAWorkloadThatIsPublished) {
  AddMirrored();
  a_.SetImageMetadata(image_, ".rbd.csi.ceph.com/userid/node-1", "x");
  EXPECT_OK(Demote(on_a_));
  EXPECT_GE(took_, on_a_.options().watch_timeout);
}

TEST_F(WaitingTest, EnableForTheDisableOfAnotherClient) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Schedule(seconds(5), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
  });
  EXPECT_OK(Enable(on_a_));
}

TEST_F(WaitingTest, DisableForThatOfAnotherClient) {
  AddMirrored();
  a_.SetMirrorImageState(image_, MirrorImageState::kDisabling);
  world_.Schedule(seconds(2), [this] {
    a_.SetMirrorImageState(image_, MirrorImageState::kDisabled);
  });
  EXPECT_OK(Disable(on_a_));
}

TEST_F(WaitingTest, DisableForTheManager) {
  AddMirrored();
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  MgrIsAwayFor(seconds(20));
  EXPECT_OK(Disable(on_a_));
  EXPECT_GE(took_, seconds(20));
}

TEST_F(WaitingTest, DisableForAManagerThatStaysAway) {
  AddMirrored();
  ASSERT_OK(Promote(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  MgrIsAwayFor(minutes(10));
  deadline_ = minutes(5);
  EXPECT_THAT(Disable(on_a_), StatusIs(absl::StatusCode::kUnavailable,
                                       ::testing::HasSubstr("rbd_support")));
  EXPECT_LE(took_, on_a_.options().mgr_patience + seconds(5));
}

TEST_F(WaitingTest, EachVerbForTheLeaseOfAnotherDaemon) {
  AddPlain();
  HoldLease(a_);
  EXPECT_OK(Enable(on_a_));
  EXPECT_GE(took_, seconds(6));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  world_.Advance(minutes(1));
  HoldLease(a_);
  EXPECT_OK(Demote(on_a_));
  EXPECT_GE(took_, seconds(6));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  HoldLease(a_);
  EXPECT_OK(Promote(on_a_));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  world_.Advance(minutes(1));
  HoldLease(a_);
  EXPECT_OK(Disable(on_a_));
  EXPECT_GE(took_, seconds(6));
}

/// How long a promotion on b takes that began long before something happens on
/// a, with a rest as short as any and with the long one.
class OneRest : public VerbsTest {
 public:
  void TestBody() override {}
  template <typename Happens>
  SteadyDuration Takes(bool settles, seconds after, const Happens& happens) {
    AddMirrored();
    world_.Advance(minutes(2));
    if (!settles) {
      on_b_.options().settled_rest = on_b_.options().longest_rest;
    }
    world_.Schedule(after, [&] { happens(*this); });
    deadline_ = minutes(15);
    world_.ClearCalls();
    status_ = Promote(on_b_);
    for (const CallRecord& record : world_.Calls()) {
      looks_ += record.call == "rbd.mirror_image_status_get" ? 1 : 0;
    }
    return took_;
  }
  void DemoteA() { a_.Demote(image_); }
  void EndA() { a_.SetClusterUp(false); }
  void EndMirrorOfA() { a_.SetMirrorDaemon(DaemonState::kDown); }
  void EndMirrorOfB() { b_.SetMirrorDaemon(DaemonState::kDown); }

  absl::Status status_;
  int looks_ = 0;
};

template <typename Happens>
void ExpectSettledIsAsQuick(absl::StatusCode code, const Happens& happens) {
  for (const seconds after : {seconds(17), seconds(28), seconds(39),
                              seconds(44), seconds(61), seconds(83)}) {
    OneRest brief;
    OneRest settled;
    const SteadyDuration usual = brief.Takes(false, after, happens);
    const SteadyDuration took = settled.Takes(true, after, happens);
    EXPECT_EQ(brief.status_.code(), code) << brief.status_;
    EXPECT_EQ(settled.status_.code(), code) << settled.status_;
    // As exactly as a look each poll interval tells, or each longest rest.
    EXPECT_LE(took, usual + seconds(5)) << after.count();
    EXPECT_LE(settled.looks_, brief.looks_);
  }
}

TEST(SettledRestTest, PromotesAsSoonAsTheDemotionIsThere) {
  for (const seconds after : {seconds(17), seconds(28), seconds(39),
                              seconds(44), seconds(61), seconds(83)}) {
    OneRest brief;
    OneRest settled;
    const auto demotes = [](OneRest& test) { test.DemoteA(); };
    const SteadyDuration usual = brief.Takes(false, after, demotes);
    EXPECT_EQ(settled.Takes(true, after, demotes), usual) << after.count();
    EXPECT_OK(settled.status_);
  }
}

TEST(SettledRestTest, SeesADeadSiteAsSoon) {
  ExpectSettledIsAsQuick(absl::StatusCode::kFailedPrecondition,
                         [](OneRest& test) { test.EndA(); });
}

TEST(SettledRestTest, SeesADeadRbdMirrorAsSoon) {
  ExpectSettledIsAsQuick(absl::StatusCode::kFailedPrecondition,
                         [](OneRest& test) { test.EndMirrorOfA(); });
}

TEST(SettledRestTest, CountsTheTakeoverTimeAsBefore) {
  ExpectSettledIsAsQuick(absl::StatusCode::kFailedPrecondition,
                         [](OneRest&) {});
}

TEST(SettledRestTest, SeesItsOwnRbdMirrorEndAsSoon) {
  for (const bool settles : {false, true}) {
    OneRest rest;
    rest.Takes(settles, seconds(40), [](OneRest& test) {
      test.EndMirrorOfB();
      test.EndA();
    });
    EXPECT_EQ(rest.status_.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(rest.status_.message()),
                ::testing::HasSubstr("rbd-mirror of this site is down"));
  }
}

TEST(SettledRestTest, LooksSeldom) {
  OneRest brief;
  OneRest settled;
  const auto nothing = [](OneRest&) {};
  brief.Takes(false, seconds(1), nothing);
  settled.Takes(true, seconds(1), nothing);
  std::cout << "looked " << brief.looks_ << " and " << settled.looks_
            << " times" << std::endl;
  EXPECT_LE(settled.looks_, 10);
  EXPECT_GE(brief.looks_, 30);
}

/// The same of groups, whose members sleep on threads of the operation.
class GroupWaitingTest : public GroupTest {
 protected:
  void TearDown() override {
    EXPECT_GE(rested_, expected_);
    GroupTest::TearDown();
  }
  SteadyDuration expected_ = seconds(1);
};

TEST_F(GroupWaitingTest, DemoteForAWorkloadThatIsPublished) {
  AddMirroredGroup(3);
  a_.SetImageMetadata(Image(1), ".rbd.csi.ceph.com/userid/node-1", "x");
  deadline_ = minutes(5);
  EXPECT_OK(DemoteAll(on_a_));
  expected_ = on_a_.options().watch_timeout;
}

TEST_F(GroupWaitingTest, EnableForTheDisableOfAnotherClient) {
  AddMirroredGroup(3);
  a_.SetMirrorImageState(Image(2), MirrorImageState::kDisabling);
  world_.Schedule(seconds(5), [this] {
    a_.SetMirrorImageState(Image(2), MirrorImageState::kDisabled);
  });
  EXPECT_OK(EnableAll(on_a_));
  expected_ = seconds(4);
}

TEST_F(GroupWaitingTest, DisableForThatOfAnotherClient) {
  AddMirroredGroup(3);
  a_.SetMirrorImageState(Image(2), MirrorImageState::kDisabling);
  world_.Schedule(seconds(2), [this] {
    a_.SetMirrorImageState(Image(2), MirrorImageState::kDisabled);
  });
  EXPECT_OK(DisableAll(on_a_));
}

}  // namespace
}  // namespace addons::testing
