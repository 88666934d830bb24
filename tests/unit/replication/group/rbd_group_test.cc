// The rbd group of a volume group follows a failover.

#include "replication/group/rbd_group.h"

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "ceph/pool.h"
#include "lease/keeper.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class RbdGroupTest : public GroupTest {
 protected:
  RbdGroupTest() {
    AddMirroredGroup(2);
    EXPECT_OK(PoolOf(a_)->CreateGroup(kName));
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_OK(PoolOf(a_)->AddGroupImage(kName, 2, ImageName(Image(i))));
    }
    world_.ClearCalls();
  }
  std::unique_ptr<Pool> PoolOf(FakeSite& site) {
    return pair_.cluster(site)
        ->OpenPool(pair_.pool_id(site), "", Access::kMutate)
        .value();
  }
  static auto Groups(FakeSite& site) {
    return site.Groups(MirroredPair::kPool, "");
  }
  void FailCalls(const std::string& name) {
    world_.SetCallHook([name](absl::string_view, absl::string_view call, bool) {
      return call == name ? EIO : 0;
    });
  }

  static constexpr char kName[] =
      "csi-vol-group-1603eb04-e188-4ec4-a750-bec38d49ac0a";
};

TEST_F(RbdGroupTest, APlannedMoveTakesTheMembersAlong) {
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_), ElementsAre(Pair(kName, IsEmpty())));
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_THAT(Groups(b_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
  EXPECT_EQ(world_.CountCalls("b", "rbd_group_image_list"), 0);
  // Repeated calls change nothing, and one call looks at the whole group.
  world_.ClearCalls();
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(world_.CountCalls("b", "rbd_group_image_list"), 1);
}

TEST_F(RbdGroupTest, AMemberThatIsIncompleteIsCompletedByTheNextPromotion) {
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_OK(PromoteAll(on_b_));
  b_.LeaveGroupImageIncomplete(MirroredPair::kPool, "", kName,
                               b_.ImageId(Image(1)));
  world_.ClearCalls();
  EXPECT_OK(PromoteAll(on_b_));
  const int64_t pool_id = pair_.pool_id(b_);
  EXPECT_THAT(
      *PoolOf(b_)->GroupImages(kName),
      UnorderedElementsAre(GroupImage{pool_id, ImageName(Image(0)), true},
                           GroupImage{pool_id, ImageName(Image(1)), true}));
  EXPECT_EQ(world_.CountCalls("b", "rbd_group_image_add"), 1);
}

TEST_F(RbdGroupTest, AMemberThatWasDemotedOtherwiseLeavesToo) {
  a_.Demote(Image(0));
  world_.Advance(minutes(1));
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_), ElementsAre(Pair(kName, IsEmpty())));
}

// The image does not name the group any more, the group still has it.
TEST_F(RbdGroupTest, AMemberThatIsHalfTakenOutLeavesToo) {
  const std::string image_id = a_.ImageId(Image(0));
  ASSERT_OK(PoolOf(a_)->RemoveGroupImage(kName, 2, image_id));
  a_.LeaveGroupImageIncomplete(MirroredPair::kPool, "", kName, image_id);
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_), ElementsAre(Pair(kName, IsEmpty())));
}

TEST_F(RbdGroupTest, AForcedPromotionJoinsTheMembersThatArePrimary) {
  a_.SetClusterUp(false);
  world_.Advance(minutes(3));
  EXPECT_OK(PromoteAll(on_b_, Force::kYes));
  EXPECT_THAT(Groups(b_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
}

TEST_F(RbdGroupTest, GroupsThatAreNotCsisAreLeftAlone) {
  ASSERT_OK(PoolOf(a_)->RemoveGroup(kName));
  ASSERT_OK(PoolOf(a_)->CreateGroup("made-by-hand"));
  ASSERT_OK(PoolOf(a_)->AddGroupImage("made-by-hand", 2, ImageName(Image(0))));
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_),
              ElementsAre(Pair("made-by-hand", ElementsAre(Image(0)))));
}

TEST_F(RbdGroupTest, NoMoveFailsBecauseOfIt) {
  FailCalls("rbd_group_image_remove_by_id");
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_EQ(PrimariesOn(a_), 0U);
  for (const char* call :
       {"rbd_group_create", "rbd_group_image_add", "rbd_get_group"}) {
    FailCalls(call);
    EXPECT_OK(PromoteAll(on_b_)) << call;
    EXPECT_EQ(PrimariesOn(b_), 2U);
  }
  world_.SetCallHook(nullptr);
  // What was missed is made up for by the next call.
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_), ElementsAre(Pair(kName, IsEmpty())));
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_THAT(Groups(b_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
  FailCalls("rbd_group_image_list");
  EXPECT_OK(PromoteAll(on_b_));
}

/// Another daemon on the same site changes the group at the same time.
class SharedRbdGroupTest : public RbdGroupTest {
 protected:
  /// Runs `other` once, when all members are primary on `site`, or none is, and
  /// this daemon is about to change the rbd group.
  void WhenMoved(FakeSite& site, size_t primaries,
                 std::function<void()> other) {
    const auto done = std::make_shared<std::atomic<bool>>(false);
    world_.SetCallHook([this, &site, primaries, other = std::move(other), done](
                           absl::string_view, absl::string_view call, bool) {
      const bool changes_group = call == "rados_lock_exclusive" ||
                                 call == "rbd_group_image_add" ||
                                 call == "rbd_group_image_remove_by_id";
      if (changes_group && !*done && PrimariesOn(site) == primaries &&
          !done->exchange(true)) {
        other();
      }
      return 0;
    });
  }
  /// Its lease on the group, as of a daemon on another machine.
  std::shared_ptr<LeaseKeeper::Held> TakeByOther(FakeSite& site) {
    LeaseOptions options;
    options.self = {"far", "another-boot", "1", 7, 7};
    other_ = std::make_unique<LeaseKeeper>(world_, options);
    ResolvedGroup group;
    group.cluster = pair_.cluster(site);
    group.pool_id = pair_.pool_id(site);
    group.pool_name = MirroredPair::kPool;
    group.uuid = kGroupUuid;
    const auto outcome = other_->TryTake(LeaseOf(group), "modify");
    EXPECT_OK(outcome);
    return outcome.ok() ? outcome->lease : nullptr;
  }

  std::unique_ptr<LeaseKeeper> other_;
};

// It would stay out of the group, although it is primary.
TEST_F(SharedRbdGroupTest, AMemberThatIsPromotedAgainMeanwhileDoesNotLeave) {
  Daemon second(world_, pair_, a_);
  WhenMoved(a_, 0, [&] {
    for (size_t i = 0; i < 2; ++i) a_.Promote(Image(i), Force::kNo);
    TestOperationContext context(world_);
    EXPECT_OK(JoinRbdGroup(context, second.environment(), Group(second)));
  });
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_EQ(PrimariesOn(a_), 2U);
  EXPECT_THAT(Groups(a_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
}

// It would be in the rbd group of a group that it is no member of.
TEST_F(SharedRbdGroupTest, AVolumeThatLeavesTheGroupMeanwhileDoesNotJoin) {
  EXPECT_OK(DemoteAll(on_a_));
  WhenMoved(b_, 2, [&] {
    ids_.pop_back();
    AddGroup(b_);
  });
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_THAT(Groups(b_), ElementsAre(Pair(kName, ElementsAre(Image(0)))));
}

TEST_F(SharedRbdGroupTest, WhoChangesTheGroupIsWaitedForAndNamed) {
  EXPECT_OK(DemoteAll(on_a_));
  const auto lease = TakeByOther(b_);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("another daemon is at work"),
                             HasSubstr("'modify' by instance"))));
  EXPECT_EQ(PrimariesOn(b_), 2U);
  EXPECT_EQ(world_.CountCalls("b", "rbd_group_image_add"), 0);
  other_->RenewDue();
  world_.Schedule(std::chrono::seconds(5), [&] { other_->GiveBack(lease); });
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_THAT(Groups(b_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
}

TEST_F(SharedRbdGroupTest, NobodyLeavesWhileAnotherDaemonChangesTheGroup) {
  const auto lease = TakeByOther(a_);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(absl::StatusCode::kAborted,
                                         HasSubstr("'modify' by instance")));
  EXPECT_EQ(PrimariesOn(a_), 0U);
  EXPECT_THAT(Groups(a_),
              ElementsAre(Pair(kName, ElementsAre(Image(0), Image(1)))));
  other_->GiveBack(lease);
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_THAT(Groups(a_), ElementsAre(Pair(kName, IsEmpty())));
}

}  // namespace
}  // namespace addons::testing
