#include "volumegroup/modify.h"

#include <cerrno>
#include <utility>

#include "ceph/pool.h"
#include "lease/keeper.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ModifyGroupTest : public GroupTest {
 protected:
  void MakeGroup(std::vector<std::string> volumes) {
    const auto group = Create(on_a_, "vg", volumes);
    ASSERT_OK(group);
    id_ = group->group_id;
    name_ = "csi-vol-group-" + UuidOf(id_);
    on_a_.replication().calls.clear();
    world_.ClearCalls();
  }
  std::unique_ptr<Pool> RbdPool() {
    return pair_.cluster(a_)
        ->OpenPool(pair_.pool_id(a_), "", Access::kMutate)
        .value();
  }

  std::string id_;
  std::string name_;
};

TEST_F(ModifyGroupTest, MakesTheMembersThoseThatAreNamed) {
  const auto volumes = AddVolumes(4);
  MakeGroup({volumes[0], volumes[1]});
  const auto group = Modify(on_a_, id_, {volumes[1], volumes[2], volumes[3]});
  ASSERT_OK(group);
  EXPECT_THAT(Ids(*group), ElementsAre(volumes[1], volumes[2], volumes[3]));
  EXPECT_EQ(Members(id_), Ids(*group));
  EXPECT_THAT(RbdGroups().at(name_), ElementsAre(Image(2), Image(3), Image(4)));
  ASSERT_OK(Modify(on_a_, id_, {}));
  EXPECT_THAT(Members(id_), IsEmpty());
  EXPECT_THAT(RbdGroups().at(name_), IsEmpty());
}

TEST_F(ModifyGroupTest, AnUnchangedListCostsOneRead) {
  const auto volumes = AddVolumes(3);
  MakeGroup(volumes);
  const auto group =
      Modify(on_a_, id_, {volumes[2], volumes[0], volumes[1], volumes[0]});
  ASSERT_OK(group);
  EXPECT_EQ(Ids(*group), volumes);
  EXPECT_EQ(CountReads(), 1);
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(on_a_.replication().calls, IsEmpty());
}

TEST_F(ModifyGroupTest, AddsBeforeItRemovesAndTheJournalComesLast) {
  const auto volumes = AddVolumes(2);
  MakeGroup({volumes[0]});
  ASSERT_OK(Modify(on_a_, id_, {volumes[1]}));
  std::vector<std::string> changes;
  for (const CallRecord& call : world_.Calls()) {
    if (call.mutation) changes.push_back(call.call);
  }
  EXPECT_THAT(changes, ElementsAre("rbd_group_create", "rbd_group_image_add",
                                   "rados_write_op_omap_set2",
                                   "rbd_group_image_remove_by_id",
                                   "rados_write_op_omap_rm_keys2"));
  EXPECT_THAT(on_a_.replication().calls,
              ElementsAre("check +1 -1", "join +1 -0", "leave +1 -1"));
}

TEST_F(ModifyGroupTest, ChangesNothingWhenSomethingIsWrong) {
  const auto volumes = AddVolumes(2);
  MakeGroup({volumes[0]});
  EXPECT_THAT(Modify(on_a_, id_, {volumes[1], pair_.VolumeId(a_, Uuid(9))}),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      Modify(on_a_, id_, {pair_.AddVolume(a_, Uuid(8), 1 << 20, "tenant1")}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  on_a_.environment().options.max_members = 1;
  EXPECT_THAT(Modify(on_a_, id_, volumes),
              StatusIs(absl::StatusCode::kResourceExhausted));
  on_a_.environment().options.max_members = 100;
  on_a_.replication().fails_at = "check";
  EXPECT_THAT(Modify(on_a_, id_, volumes),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
}

// Leaving is on the way to deleting a volume, which gives space back.
TEST_F(ModifyGroupTest, InAFullPoolMembersLeaveAndNoneJoins) {
  const auto volumes = AddVolumes(3);
  MakeGroup({volumes[0], volumes[1]});
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_lock_exclusive" ? EDQUOT : 0;
  });
  ASSERT_OK(Modify(on_a_, id_, {volumes[0]}));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
  EXPECT_THAT(Modify(on_a_, id_, {volumes[0], volumes[2]}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("full")));
  ASSERT_OK(Modify(on_a_, id_, {}));
  EXPECT_OK(Delete(on_a_, id_));
}

TEST_F(ModifyGroupTest, AMissingGroupIsNotFound) {
  EXPECT_THAT(Modify(on_a_, pair_.VolumeId(a_, Uuid(70)), {}),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ModifyGroupTest, AVolumeOfAnotherGroupIsRefused) {
  const auto volumes = AddVolumes(2);
  ASSERT_OK(Create(on_a_, "other", {volumes[1]}));
  MakeGroup({volumes[0]});
  EXPECT_THAT(Modify(on_a_, id_, volumes),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ModifyGroupTest, BrokenMembersNeitherBlockNorStay) {
  const auto volumes = AddVolumes(5);
  MakeGroup({volumes[0], volumes[1], volumes[2], volumes[3]});
  // Without image; without journal entry; of a cluster that nobody knows.
  a_.RemoveImage(Image(2));
  pair_.cluster(a_)
      ->OpenPool(2, "", Access::kMutate)
      .value()
      ->RemoveObject("csi.volume." + Uuid(3))
      .IgnoreError();
  const std::string foreign = "0001-0006-site-x-0000000000000002-" + Uuid(7);
  a_.AddOmapValue(kPool, "", ObjectOf(id_), foreign, "");

  // They may stay while others come and go ...
  ASSERT_OK(Modify(on_a_, id_,
                   {volumes[0], volumes[1], volumes[2], volumes[4], foreign}));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0], volumes[1], volumes[2],
                                        volumes[4], foreign));
  // ... and they may leave.
  ASSERT_OK(Modify(on_a_, id_, {volumes[0], volumes[4]}));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0], volumes[4]));
  // Of each change: check(), and join() or leave().
  EXPECT_EQ(on_a_.replication().calls.size(), 4U)
      << "replication was asked about broken members";
}

TEST_F(ModifyGroupTest, ARenamedMemberIsNotGone) {
  const auto volumes = AddVolumes(1);
  MakeGroup(volumes);
  a_.RenameImage(Image(1), "mine");
  world_.ClearCalls();
  const auto named =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("was renamed"));
  EXPECT_THAT(Modify(on_a_, id_, {}), named);
  EXPECT_THAT(Delete(on_a_, id_), named);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(ModifyGroupTest, AMemberThatCannotBeLookedAtForNowDoesNotLeaveHalfway) {
  const auto volumes = AddVolumes(1);
  MakeGroup(volumes);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals_by_keys2" ? ETIMEDOUT : 0;
  });
  EXPECT_THAT(Modify(on_a_, id_, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(volumes[0])));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// In journal mode the role is not noted where it can be read unopened.
TEST_F(ModifyGroupTest, AMemberThatIsMirroredByItsJournalIsOpened) {
  const auto volumes = AddVolumes(1);
  MakeGroup(volumes);
  a_.EnableMirroring(Image(1), MirrorMode::kJournal);
  world_.ClearCalls();
  ASSERT_OK(Modify(on_a_, id_, {}));
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 1);
  EXPECT_THAT(Members(id_), IsEmpty());
}

TEST_F(ModifyGroupTest, WhatCannotBeReadUnopenedIsReadOfAnOpenImage) {
  const auto volumes = AddVolumes(2);
  MakeGroup(volumes);
  bool failed = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read_op_omap_get_vals_by_keys2" &&
                   !std::exchange(failed, true)
               ? EIO
               : 0;
  });
  world_.ClearCalls();
  ASSERT_OK(Modify(on_a_, id_, {}));
  EXPECT_EQ(world_.CountCalls("a", "rbd_open_read_only"), 1);
  EXPECT_THAT(Members(id_), IsEmpty());
}

TEST_F(ModifyGroupTest, AMemberThatCannotBeFoundForNowDoesNotLeaveHalfway) {
  const auto volumes = AddVolumes(1);
  MakeGroup(volumes);
  world_.SetCallHook([this](absl::string_view, absl::string_view, bool) {
    return world_.Calls().back().object == "csi.volume." + Uuid(1) ? ETIMEDOUT
                                                                   : 0;
  });
  EXPECT_THAT(Modify(on_a_, id_, {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(volumes[0])));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
  ASSERT_OK(Modify(on_a_, id_, {}));
  EXPECT_THAT(RbdGroups(),
              ElementsAre(Pair("csi-vol-group-" + UuidOf(id_), IsEmpty())));
}

TEST_F(ModifyGroupTest, NobodyLeavesWhenReplicationCannotLetNewOnesIn) {
  const auto volumes = AddVolumes(2);
  MakeGroup({volumes[0]});
  on_a_.replication().fails_at = "join";
  EXPECT_THAT(Modify(on_a_, id_, {volumes[1]}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
  on_a_.replication().fails_at = "leave";
  EXPECT_THAT(Modify(on_a_, id_, {volumes[1]}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0], volumes[1]));
  on_a_.replication().fails_at = "";
  EXPECT_OK(Modify(on_a_, id_, {volumes[1]}));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[1]));
}

TEST_F(ModifyGroupTest, TakesTheIdsOfBothSitesForOneVolume) {
  const std::string there = pair_.AddMirroredVolume(a_, Uuid(1));
  const std::string here = pair_.VolumeId(b_, Uuid(1));
  const auto group =
      Create(on_b_, "vg", {there}, {{"clusterID", "site-b"}, {"pool", kPool}});
  ASSERT_OK(group);
  world_.ClearCalls();
  ASSERT_OK(Modify(on_b_, group->group_id, {here}));
  EXPECT_EQ(world_.CountMutations(), 0);
  ASSERT_OK(Modify(on_b_, group->group_id, {}));
  EXPECT_THAT(b_.Omap(kPool, "", ObjectOf(group->group_id)), SizeIs(3));
}

TEST_F(ModifyGroupTest, ADeletedGroupIsNotMadeAgain) {
  const auto volumes = AddVolumes(1);
  MakeGroup({});
  // Another daemon deletes the group while this one adds a volume.
  bool once = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_write_op_omap_set2" && !std::exchange(once, true)) {
      EXPECT_OK(Delete(also_on_a_, id_));
    }
    return 0;
  });
  EXPECT_THAT(Modify(on_a_, id_, volumes),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_FALSE(HasJournal(id_));
  EXPECT_THAT(RbdGroups(), IsEmpty());
}

// librbd notes in the group that the image is incomplete, then takes the note
// of the group out of the image, then the image out of the group.
TEST_F(ModifyGroupTest, AMemberWhoseRemovalDiedWithinLibrbdLeavesTheRbdGroup) {
  const auto volumes = AddVolumes(2);
  MakeGroup(volumes);
  const std::string image_id = a_.ImageId(Image(2));
  ASSERT_OK(RbdPool()->RemoveGroupImage(name_, pair_.pool_id(a_), image_id));
  a_.LeaveGroupImageIncomplete(kPool, "", name_, image_id);
  ASSERT_OK(Modify(on_a_, id_, {volumes[0]}));
  EXPECT_THAT(RbdGroups().at(name_), ElementsAre(Image(1)));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
}

TEST_F(ModifyGroupTest, AMemberThatIsInAnotherRbdGroupByNowIsLeftThere) {
  const auto volumes = AddVolumes(2);
  MakeGroup(volumes);
  const auto pool = RbdPool();
  const int64_t pool_id = pair_.pool_id(a_);
  ASSERT_OK(pool->RemoveGroupImage(name_, pool_id, a_.ImageId(Image(2))));
  ASSERT_OK(pool->CreateGroup("made-by-hand"));
  ASSERT_OK(pool->AddGroupImage("made-by-hand", pool_id, ImageName(Image(2))));
  ASSERT_OK(Modify(on_a_, id_, {volumes[0]}));
  EXPECT_THAT(RbdGroups().at(name_), ElementsAre(Image(1)));
  EXPECT_THAT(RbdGroups().at("made-by-hand"), ElementsAre(Image(2)));
}

// Another daemon has made the members others after this one has looked: what
// is to come and to go is found out again, with the lease on the group.
TEST_F(ModifyGroupTest, WhatAnotherDaemonHasMadeOfItMeanwhileIsSeen) {
  const auto volumes = AddVolumes(4);
  MakeGroup({});
  GroupDaemon second(world_, a_, pair_.ConfigJson(), pair_.MappingJson());
  bool done = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_lock_exclusive" && !std::exchange(done, true)) {
      EXPECT_OK(Modify(second, id_, {volumes[2], volumes[3]}));
    }
    return 0;
  });
  EXPECT_OK(Modify(on_a_, id_, {volumes[0], volumes[1]}));
  EXPECT_TRUE(done);
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0], volumes[1]));
  EXPECT_THAT(RbdGroups().at(name_), ElementsAre(Image(1), Image(2)));
}

TEST_F(ModifyGroupTest, ADaemonThatHasTheLeaseIsNamed) {
  const auto volumes = AddVolumes(2);
  MakeGroup({volumes[0]});
  LeaseOptions options;
  options.self = {"far", "another-boot", "1", 7, 7};
  LeaseKeeper other(world_, options);
  ResolvedGroup group;
  group.cluster = pair_.cluster(a_);
  group.pool_id = pair_.pool_id(a_);
  group.uuid = UuidOf(id_);
  const auto lease = other.TryTake(LeaseOf(group), "modify");
  ASSERT_OK(lease);
  EXPECT_THAT(Modify(on_a_, id_, volumes),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("on host 'far'")));
  EXPECT_THAT(Delete(on_a_, id_).code(),
              ::testing::AnyOf(absl::StatusCode::kAborted,
                               absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Members(id_), ElementsAre(volumes[0]));
  other.GiveBack(lease->lease);
  EXPECT_OK(Modify(on_a_, id_, volumes));
}

}  // namespace
}  // namespace addons::testing
