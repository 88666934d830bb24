// The rbd group of a volume group follows a failover.

#include "replication/group/rbd_group.h"

#include <cerrno>

#include "ceph/pool.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class RbdGroupTest : public GroupTest {
 protected:
  RbdGroupTest() {
    AddMirroredGroup(2);
    EXPECT_OK(PoolOf(a_)->CreateGroup(kName));
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_OK(PoolOf(a_)->AddGroupImage(kName, 2, Image(i)));
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
  EXPECT_THAT(*PoolOf(b_)->GroupImages(kName),
              UnorderedElementsAre(GroupImage{pool_id, Image(0), true},
                                   GroupImage{pool_id, Image(1), true}));
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
  ASSERT_OK(PoolOf(a_)->AddGroupImage("made-by-hand", 2, Image(0)));
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

}  // namespace
}  // namespace addons::testing
