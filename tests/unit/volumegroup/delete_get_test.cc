#include <gmock/gmock.h>

#include "ceph/pool.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class DeleteGroupTest : public GroupTest {};

TEST_F(DeleteGroupTest, LeavesNothingOfAnEmptyGroup) {
  const auto volumes = AddVolumes(1);
  const auto group = Create(on_a_, "vg", volumes);
  ASSERT_OK(Modify(on_a_, group->group_id, {}));
  ASSERT_OK(Delete(on_a_, group->group_id));
  EXPECT_THAT(RbdGroups(), IsEmpty());
  EXPECT_THAT(Directory(), IsEmpty());
  EXPECT_FALSE(HasJournal(group->group_id));
  EXPECT_TRUE(a_.HasImage(Image(1)));
  EXPECT_OK(Create(on_a_, "vg", volumes));
}

TEST_F(DeleteGroupTest, IsOkWhereThereIsNoGroup) {
  EXPECT_OK(Delete(on_a_, pair_.VolumeId(a_, Uuid(70))));
  EXPECT_OK(Delete(
      on_a_, "0001-0006-site-a-0000000000000063-" + Uuid(70)));  // nor a pool
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DeleteGroupTest, RefusesAGroupThatHasMembers) {
  const auto group = Create(on_a_, "vg", AddVolumes(1));
  world_.ClearCalls();
  EXPECT_THAT(Delete(on_a_, group->group_id),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("ModifyVolumeGroupMembership")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// Ceph removes them with the group, without a word.
TEST_F(DeleteGroupTest, RefusesAGroupThatHasSnapshots) {
  const auto group = Create(on_a_, "vg", AddVolumes(1));
  ASSERT_OK(Modify(on_a_, group->group_id, {}));
  const auto groups = RbdGroups();
  ASSERT_THAT(groups, SizeIs(1));
  a_.AddGroupSnapshot(MirroredPair::kPool, "", groups.begin()->first, "monday");
  world_.ClearCalls();
  EXPECT_THAT(Delete(on_a_, group->group_id),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("1 snapshot (monday)"),
                             HasSubstr("rbd group snap rm"))));
  EXPECT_EQ(world_.CountCalls("a", "rbd_group_remove"), 0);
  EXPECT_TRUE(HasJournal(group->group_id));
  EXPECT_EQ(RbdGroups(), groups);
}

TEST_F(DeleteGroupTest, BrokenMembersDoNotBlock) {
  const auto group = Create(on_a_, "vg", AddVolumes(2));
  a_.RemoveImage(Image(1));
  pair_.cluster(a_)
      ->OpenPool(2, "", Access::kMutate)
      .value()
      ->RemoveObject("csi.volume." + Uuid(2))
      .IgnoreError();
  ASSERT_OK(Delete(on_a_, group->group_id));
  EXPECT_THAT(RbdGroups(), IsEmpty());
  EXPECT_FALSE(HasJournal(group->group_id));
}

TEST_F(DeleteGroupTest, AMemberThatCannotBeLookedAtMayBeThere) {
  const auto group = Create(on_a_, "vg", AddVolumes(1));
  world_.ClearCalls();
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals_by_keys2" ? ETIMEDOUT : 0;
  });
  EXPECT_THAT(Delete(on_a_, group->group_id),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(DeleteGroupTest, AVolumeIsNoGroup) {
  EXPECT_THAT(Delete(on_a_, AddVolume(1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

class GetGroupTest : public GroupTest {};

TEST_F(GetGroupTest, TellsTheMembersAndChangesNothing) {
  const auto volumes = AddVolumes(2);
  const auto made = Create(on_a_, "vg", volumes);
  world_.ClearCalls();
  const auto group = Get(on_a_, made->group_id);
  ASSERT_OK(group);
  EXPECT_EQ(Ids(*group), volumes);
  EXPECT_EQ(group->volumes[0].capacity_bytes, uint64_t{64} << 20);
  EXPECT_EQ(group->volumes[1].context.at("imageName"), Image(2));
  EXPECT_THAT(group->context, IsEmpty());
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GetGroupTest, MarksBrokenMembers) {
  const auto volumes = AddVolumes(2);
  const auto made = Create(on_a_, "vg", volumes);
  a_.RemoveImage(Image(1));
  const auto group = Get(on_a_, made->group_id);
  ASSERT_OK(group);
  EXPECT_EQ(Ids(*group), volumes);
  EXPECT_THAT(group->context, ElementsAre(Pair("brokenMembers", volumes[0])));
  EXPECT_THAT(group->volumes[0].context,
              ElementsAre(Pair("problem", HasSubstr("does not exist"))));
}

TEST_F(GetGroupTest, AMissingGroupIsNotFound) {
  EXPECT_THAT(Get(on_a_, pair_.VolumeId(a_, Uuid(70))),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace addons::testing
