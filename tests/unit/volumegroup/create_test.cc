#include "volumegroup/create.h"

#include "ceph/pool.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class CreateGroupTest : public GroupTest {};

TEST_F(CreateGroupTest, WritesWhatTheDriverWrites) {
  const std::vector<std::string> volumes = AddVolumes(2);
  const auto group = Create(on_a_, "vg-fix-1", volumes);
  ASSERT_OK(group);
  const std::string uuid = UuidOf(group->group_id);
  EXPECT_THAT(uuid, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                 "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(group->group_id,
            absl::StrCat("0001-0006-site-a-0000000000000002-", uuid));
  EXPECT_THAT(Directory(),
              ElementsAre(Pair("csi.volume.group.vg-fix-1", uuid)));
  EXPECT_THAT(
      Journal(group->group_id),
      UnorderedElementsAre(
          Pair(volumes[0], ""), Pair(volumes[1], ""),
          Pair("csi.creationtime",
               MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:"
                            "[0-9]{2}(\\.[0-9]{1,9})?Z")),
          Pair("csi.groupname", "csi-vol-group-" + uuid),
          Pair("csi.volname", "vg-fix-1")));
  EXPECT_THAT(RbdGroups(), ElementsAre(Pair("csi-vol-group-" + uuid,
                                            ElementsAre(Image(1), Image(2)))));
}

TEST_F(CreateGroupTest, AnswersWithVolumesAndParameters) {
  const std::vector<std::string> volumes = AddVolumes(1);
  const auto group = Create(on_a_, "vg", volumes);
  ASSERT_OK(group);
  EXPECT_EQ(group->context, DefaultParameters());
  ASSERT_THAT(group->volumes, SizeIs(1));
  EXPECT_EQ(group->volumes[0].volume_id, volumes[0]);
  EXPECT_EQ(group->volumes[0].capacity_bytes, uint64_t{64} << 20);
  EXPECT_THAT(
      group->volumes[0].context,
      UnorderedElementsAre(Pair("imageName", Image(1)),
                           Pair("journalPool", kPool), Pair("pool", kPool)));
}

TEST_F(CreateGroupTest, IsRefusedOnAClusterOfAnotherSite) {
  on_a_.environment().options.home = {ClusterId("site-b")};
  world_.ClearCalls();
  EXPECT_THAT(Create(on_a_, "vg", {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("parameters[clusterID] 'site-a'"),
                             HasSubstr("--site-clusters (site-b)"))));
  EXPECT_THAT(world_.Calls(), IsEmpty());
  on_a_.environment().options.home = {ClusterId("site-a")};
  EXPECT_OK(Create(on_a_, "vg", {}));
}

TEST_F(CreateGroupTest, UsesInstanceIdAndPrefix) {
  on_a_.environment().options.instance_id = "blue";
  GroupParameterMap map = DefaultParameters();
  map["volumeGroupNamePrefix"] = "mygrp-";
  map["volumeNamePrefix"] = "ignored-";
  const auto group = Create(on_a_, "vg", {}, map);
  ASSERT_OK(group);
  EXPECT_THAT(Directory("blue"), SizeIs(1));
  EXPECT_THAT(RbdGroups(),
              ElementsAre(Pair("mygrp-" + UuidOf(group->group_id), IsEmpty())));
}

TEST_F(CreateGroupTest, WorksInANamespace) {
  const std::string volume =
      pair_.AddVolume(a_, Uuid(1), uint64_t{64} << 20, "tenant1");
  const auto group = Create(on_a_, "vg", {volume},
                            {{"clusterID", "site-a-ns"}, {"pool", kPool}});
  ASSERT_OK(group);
  EXPECT_TRUE(a_.HasOmap(kPool, "tenant1", ObjectOf(group->group_id)));
  EXPECT_THAT(a_.Groups(kPool, "tenant1"), SizeIs(1));
  EXPECT_EQ(group->volumes[0].context.at("radosNamespace"), "tenant1");
}

TEST_F(CreateGroupTest, MayBeRepeated) {
  const std::vector<std::string> volumes = AddVolumes(2);
  const auto first = Create(on_a_, "vg", volumes);
  ASSERT_OK(first);
  const OmapValues journal = Journal(first->group_id);
  const auto second = Create(on_a_, "vg", volumes);
  ASSERT_OK(second);
  EXPECT_EQ(second->group_id, first->group_id);
  EXPECT_EQ(Ids(*second), volumes);
  EXPECT_EQ(Journal(first->group_id), journal);
  EXPECT_THAT(RbdGroups(), SizeIs(1));
}

TEST_F(CreateGroupTest, AddsNamedMembersThatAreMissingAndLeavesOthers) {
  const std::vector<std::string> volumes = AddVolumes(3);
  const auto first = Create(on_a_, "vg", {volumes[0], volumes[1]});
  ASSERT_OK(first);
  const auto second = Create(on_a_, "vg", {volumes[1], volumes[2]});
  ASSERT_OK(second);
  EXPECT_EQ(second->group_id, first->group_id);
  EXPECT_EQ(Ids(*second), volumes);
  EXPECT_EQ(Members(first->group_id), volumes);
}

TEST_F(CreateGroupTest, AdoptsAnImageThatAnInterruptedCallPutIntoTheRbdGroup) {
  const std::vector<std::string> volumes = AddVolumes(2);
  const auto group = Create(on_a_, "vg", {volumes[0]});
  ASSERT_OK(group);
  const auto pool = pair_.cluster(a_)->OpenPool(2, "", Access::kMutate);
  ASSERT_OK((*pool)->AddGroupImage("csi-vol-group-" + UuidOf(group->group_id),
                                   2, ImageName(Image(2))));
  world_.ClearCalls();
  ASSERT_OK(Create(on_a_, "vg", volumes));
  EXPECT_EQ(Members(group->group_id), volumes);
  // The image may know of the group, and the group not be sure of the image.
  EXPECT_EQ(world_.CountCalls("a", "rbd_group_image_add"), 1);
}

TEST_F(CreateGroupTest, TakesOverWhatInterruptedCallsLeave) {
  // A name without object, and an object without names.
  a_.SetOmap(kPool, "", "csi.groups.default",
             {{"csi.volume.group.stale", Uuid(91)},
              {"csi.volume.group.empty", Uuid(92)}});
  a_.SetOmap(kPool, "", "csi.volume.group." + Uuid(92), {});
  for (const std::string name : {"stale", "empty"}) {
    const auto group =
        Create(on_a_, name, {AddVolume(name == "stale" ? 1 : 2)});
    ASSERT_OK(group) << name;
    EXPECT_EQ(Journal(group->group_id).at("csi.volname"), name);
    EXPECT_EQ(Directory().at("csi.volume.group." + name),
              UuidOf(group->group_id));
  }
  EXPECT_THAT(RbdGroups(), SizeIs(2));
}

TEST_F(CreateGroupTest, IsRefusedOnlyForOtherParameters) {
  GroupParameterMap map = DefaultParameters();
  map["volumeGroupNamePrefix"] = "mygrp-";
  ASSERT_OK(Create(on_a_, "vg", {}, map));
  world_.ClearCalls();
  EXPECT_THAT(Create(on_a_, "vg", {}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("mygrp-")));
  EXPECT_EQ(world_.CountMutations(), 0);
  // As drivers of 2024 called it.
  map = DefaultParameters();
  map["volumeNamePrefix"] = "mygrp-";
  EXPECT_OK(Create(on_a_, "vg", {}, map));
}

TEST_F(CreateGroupTest, LeavesAVolumeGroupSnapshotAlone) {
  a_.SetOmap(kPool, "", "csi.groups.default",
             {{"csi.volume.group.groupsnapshot-1", Uuid(90)}});
  const OmapValues snapshot = {{"csi.volname", "groupsnapshot-1"},
                               {"csi.groupname", "csi-vol-group-" + Uuid(90)},
                               {AddVolume(1), "0001-snapshot-id"}};
  a_.SetOmap(kPool, "", "csi.volume.group." + Uuid(90), snapshot);
  EXPECT_THAT(Create(on_a_, "groupsnapshot-1", {}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("volume group snapshot")));
  EXPECT_EQ(a_.Omap(kPool, "", "csi.volume.group." + Uuid(90)), snapshot);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(CreateGroupTest, ChecksEverythingBeforeTheFirstChange) {
  const std::string good = AddVolume(1);
  const std::string unknown = pair_.VolumeId(a_, Uuid(2));
  const std::string elsewhere =
      pair_.AddVolume(a_, Uuid(3), uint64_t{64} << 20, "tenant1");
  const std::string imageless = AddVolume(4);
  a_.RemoveImage(Image(4));
  const std::string taken = AddVolume(5);
  ASSERT_OK(Create(on_a_, "other", {taken}));
  world_.ClearCalls();

  EXPECT_THAT(Create(on_a_, "vg", {good, unknown}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(unknown)));
  EXPECT_THAT(Create(on_a_, "vg", {good, imageless}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(Image(4))));
  EXPECT_THAT(
      Create(on_a_, "vg", {good, elsewhere}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("tenant1")));
  EXPECT_THAT(Create(on_a_, "vg", {good, taken}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(Image(5)), HasSubstr("one group"))));
  EXPECT_THAT(
      Create(on_a_, "vg", {good}, {{"clusterID", "site-x"}, {"pool", kPool}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("clusterID")));
  EXPECT_THAT(
      Create(on_a_, "vg", {good}, {{"clusterID", "site-a"}, {"pool", "nope"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'nope'")));
  on_a_.replication().fails_at = "check";
  EXPECT_THAT(Create(on_a_, "vg", {good}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Directory(), SizeIs(1));
}

TEST_F(CreateGroupTest, HasALimit) {
  on_a_.environment().options.max_members = 2;
  const std::vector<std::string> volumes = AddVolumes(3);
  EXPECT_THAT(
      Create(on_a_, "vg", volumes),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 2")));
  EXPECT_EQ(world_.CountMutations(), 0);
  ASSERT_OK(Create(on_a_, "vg", {volumes[0], volumes[1]}));
  // The limit is for all members, those that are there already included.
  EXPECT_THAT(Create(on_a_, "vg", {volumes[2]}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(CreateGroupTest, TakesClones) {
  AddVolume(1);
  a_.AddClone(Image(1), Image(2));
  pair_.AddJournal(a_, Uuid(2));
  EXPECT_OK(Create(on_a_, "vg", {pair_.VolumeId(a_, Uuid(2))}));
}

TEST_F(CreateGroupTest, UndoesAReservationThatCannotBeFinished) {
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_group_create" ? EIO : 0;
  });
  EXPECT_THAT(Create(on_a_, "vg", {AddVolume(1)}),
              StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Directory(), IsEmpty());
  EXPECT_THAT(RbdGroups(), IsEmpty());
}

TEST_F(CreateGroupTest, AddsTheOthersWhenOneCannotBeAdded) {
  const std::vector<std::string> volumes = AddVolumes(3);
  int added = 0;
  on_a_.environment().options.concurrency = 1;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_group_image_add" && ++added == 2 ? EIO : 0;
  });
  EXPECT_THAT(Create(on_a_, "vg", volumes),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("volume '")));
  const auto group = Create(on_a_, "vg", volumes);
  ASSERT_OK(group);
  EXPECT_EQ(Members(group->group_id), volumes);
  EXPECT_EQ(added, 4);  // the two that were in were not added again
}

TEST_F(CreateGroupTest, TwoDaemonsMakeOneGroup) {
  const std::vector<std::string> volumes = AddVolumes(2);
  // The second daemon runs as a whole when the first is about to reserve.
  absl::StatusOr<GroupAnswer> second = absl::UnknownError("not called");
  bool once = false;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rados_write_op_omap_set2" && !std::exchange(once, true)) {
      second = Create(also_on_a_, "vg", volumes);
    }
    return 0;
  });
  const auto first = Create(on_a_, "vg", volumes);
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(second);
  const auto repeated = Create(on_a_, "vg", volumes);
  ASSERT_OK(repeated);
  EXPECT_EQ(repeated->group_id, second->group_id);
  EXPECT_THAT(Directory(), SizeIs(1));
  EXPECT_THAT(RbdGroups(), SizeIs(1));
  EXPECT_EQ(Members(second->group_id), volumes);
}

TEST_F(CreateGroupTest, TheSlowerOfTwoDaemonsIsNotToldOfAnotherGroup) {
  const std::vector<std::string> volumes = AddVolumes(2);
  // The second daemon runs as a whole when the first has seen that the name is
  // free, and is about to look at the volumes.
  absl::StatusOr<GroupAnswer> second = absl::UnknownError("not called");
  int reads = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    // After those of the name, before and with the lease.
    if (call == "rados_read_op_omap_get_vals_by_keys2" && ++reads == 3) {
      second = Create(also_on_a_, "vg", volumes);
    }
    return 0;
  });
  on_a_.environment().options.concurrency = 1;
  EXPECT_THAT(Create(on_a_, "vg", volumes),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(second);
  const auto repeated = Create(on_a_, "vg", volumes);
  ASSERT_OK(repeated);
  EXPECT_EQ(repeated->group_id, second->group_id);
}

TEST_F(CreateGroupTest, OnThePeerAdoptsWhatTheJournalHasUnderOtherIds) {
  const std::string there = pair_.AddMirroredVolume(a_, Uuid(1));
  const std::string here = pair_.VolumeId(b_, Uuid(1));
  // As ceph-csi's controller writes it on the peer.
  b_.SetOmap(kPool, "", "csi.groups.default",
             {{"csi.volume.group.vg", Uuid(80)}});
  b_.SetOmap(kPool, "", "csi.volume.group." + Uuid(80),
             {{"csi.volname", "vg"},
              {"csi.groupname", "csi-vol-group-" + Uuid(80)},
              {there, ""}});
  const auto group =
      Create(on_b_, "vg", {here}, {{"clusterID", "site-b"}, {"pool", kPool}});
  ASSERT_OK(group);
  EXPECT_EQ(group->group_id, "0001-0006-site-b-0000000000000003-" + Uuid(80));
  EXPECT_THAT(Ids(*group), ElementsAre(there));
  EXPECT_THAT(b_.Omap(kPool, "", "csi.volume.group." + Uuid(80)), SizeIs(3));
}

TEST_F(CreateGroupTest, KeepsSecondaryImagesOutOfTheRbdGroup) {
  pair_.AddMirroredVolume(a_, Uuid(1));
  const std::string here = pair_.VolumeId(b_, Uuid(1));
  const auto group =
      Create(on_b_, "vg", {here}, {{"clusterID", "site-b"}, {"pool", kPool}});
  ASSERT_OK(group);
  EXPECT_THAT(b_.Groups(kPool, ""), ElementsAre(Pair(::testing::_, IsEmpty())));
  EXPECT_TRUE(b_.Omap(kPool, "", ObjectOf(group->group_id)).contains(here));
}

TEST_F(CreateGroupTest, FreesAVolumeThatAnInterruptedCallLeftInAnotherGroup) {
  const std::string volume = AddVolume(1);
  const auto other = Create(on_a_, "other", {});
  ASSERT_OK(other);
  const auto pool = pair_.cluster(a_)->OpenPool(2, "", Access::kMutate);
  const std::string other_name = "csi-vol-group-" + UuidOf(other->group_id);
  ASSERT_OK((*pool)->AddGroupImage(other_name, 2, ImageName(Image(1))));
  const auto group = Create(on_a_, "vg", {volume});
  ASSERT_OK(group);
  EXPECT_THAT(RbdGroups().at(other_name), IsEmpty());
  EXPECT_THAT(RbdGroups().at("csi-vol-group-" + UuidOf(group->group_id)),
              ElementsAre(Image(1)));
}

TEST_F(CreateGroupTest, LeavesTheGroupsOfOthersAlone) {
  const std::string volume = AddVolume(1);
  const auto pool = pair_.cluster(a_)->OpenPool(2, "", Access::kMutate);
  ASSERT_OK((*pool)->CreateGroup("made-by-hand"));
  ASSERT_OK((*pool)->AddGroupImage("made-by-hand", 2, ImageName(Image(1))));
  EXPECT_THAT(Create(on_a_, "vg", {volume}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("rbd group image remove")));
}

}  // namespace
}  // namespace addons::testing
