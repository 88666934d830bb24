// Volumes that join or leave a replicated group, on two real sites, and calls
// for one group at the same time.

#include <algorithm>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/test_group.h"
#include "tests/cluster/volume_group_client.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GroupMembershipTest : public GroupSitesTest {
 protected:
  using Ids = std::vector<std::string>;

  static VolumeGroupClient Groups(const std::string& site) {
    return {site, Daemon(site).socket()};
  }
  static Ids IdsOf(const std::vector<TestVolume>& members) {
    Ids ids;
    for (const TestVolume& member : members) ids.push_back(member.id_a);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static GroupReply Modify(const TestGroup& group) {
    return Groups("a").Modify(group.id, IdsOf(group.members));
  }
  /// Waits until site b has `volume`, and writes its journal entry there.
  static void AwaitOnB(TestVolume* volume) {
    volume->id_b = Testbed("peer-journal", {"b", volume->id_a});
    EXPECT_TRUE(Eventually([&] {
      return MirrorState("b", *volume) == "enabled";
    })) << "the image did not arrive on site b";
  }
};

TEST_F(GroupMembershipTest, WhoJoinsMovesWithTheGroupAndWhoLeavesStays) {
  TestGroup group = MakeReplicatedGroup(2);
  EXPECT_THAT(EnableGroup("a", group,
                          {{"groupReplication", "members"},
                           {"schedulingInterval", "1h"}}),
              HasCode(Code::OK));
  EXPECT_THAT(PromoteGroup("a", group), HasCode(Code::OK));
  const TestVolume leaver = group.members[1];
  group.members.push_back(MakeVolume());
  const GroupReply joined = Modify(group);
  ASSERT_THAT(joined.status, HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", group.members[2]), "enabled");
  EXPECT_TRUE(IsPrimary("a", group.members[2]));
  AwaitOnB(&group.members[2]);

  group.members.erase(group.members.begin() + 1);
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", leaver), "disabled");
  EXPECT_TRUE(Eventually([&] { return MirrorState("b", leaver) == "absent"; }));
  EXPECT_EQ(Primaries("a", group), 2U);
  EXPECT_THAT(Groups("a").Get(group.id).volumes,
              ElementsAreArray(IdsOf(group.members)));
  // The same list again is cheap and changes nothing.
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));

  // As ceph-csi's controller writes it on the peer; then a planned move.
  WriteJournal("b", group, group.members);
  EXPECT_THAT(Groups("b").Modify(group.id, IdsOf(group.members)).status,
              HasCode(Code::OK));
  const int last = WriteCounter("a", group, 30);
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(RbdGroupImages("a", group), IsEmpty());
  EXPECT_THAT(PromoteGroupAtLast("b", group), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 2U);
  EXPECT_THAT(Counters("b", group), Each(last));
  EXPECT_THAT(RbdGroupImages("b", group), SizeIs(2));
}

TEST_F(GroupMembershipTest, SchedulesOfMembersAreThoseOfTheGroup) {
  TestGroup group = MakeGroup(1);
  const Parameters parameters = {{"groupReplication", "members"},
                                 {"schedulingInterval", "1h"}};
  ASSERT_THAT(EnableGroup("a", group, parameters), HasCode(Code::OK));
  ASSERT_THAT(Promote("a", group.members[0], false, parameters),
              HasCode(Code::OK));
  ASSERT_THAT(Schedules("a", group.members[0]), HasSubstr("1h"));
  group.members.push_back(MakeVolume());
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_THAT(Schedules("a", group.members[1]), HasSubstr("1h"));
}

TEST_F(GroupMembershipTest, AVolumeThatCannotBeMirroredChangesNothing) {
  TestGroup group = MakeGroup(1);
  ASSERT_THAT(EnableGroup("a", group), HasCode(Code::OK));
  const TestVolume bad = MakeVolume();
  Rbd("a", {"mirror", "image", "enable", ImageSpec(bad), "journal"});
  TestGroup wanted = group;
  wanted.members = {bad, MakeVolume()};
  const GroupReply refused = Modify(wanted);
  EXPECT_THAT(refused.status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(refused.status.error_message(), HasSubstr(bad.id_a));
  EXPECT_EQ(MirrorState("a", wanted.members[1]), "disabled");
  EXPECT_EQ(MirrorState("a", group.members[0]), "enabled");
  EXPECT_THAT(Groups("a").Get(group.id).volumes,
              ElementsAreArray(IdsOf(group.members)));
  EXPECT_THAT(RbdGroupImages("a", group), SizeIs(1));
}

TEST_F(GroupMembershipTest, ACloneNeitherJoinsNorIsReplicatedNorMoves) {
  const std::string parent = MakeParent("parent-of-members");
  const auto make_clone = [&] {
    return MakeVolume({"--parent", parent + "@origin"});
  };
  const auto refuses = [](const TestVolume& clone) {
    return AllOf(HasSubstr(clone.id_a), HasSubstr("flatten"));
  };
  // One that joins.
  const TestGroup group = MakeReplicatedGroup(1);
  TestGroup wanted = group;
  wanted.members.push_back(make_clone());
  const GroupReply joins = Modify(wanted);
  EXPECT_THAT(joins.status, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(joins.status.error_message(), refuses(wanted.members[1]));
  EXPECT_EQ(MirrorState("a", wanted.members[1]), "disabled");
  EXPECT_THAT(Groups("a").Get(group.id).volumes,
              ElementsAreArray(IdsOf(group.members)));

  // One that is there already.
  TestGroup with_clone = MakeGroup(1);
  with_clone.members.push_back(make_clone());
  WriteJournal("a", with_clone, with_clone.members);
  const TestVolume& clone = with_clone.members[1];
  const grpc::Status enabled = EnableGroup("a", with_clone);
  EXPECT_THAT(enabled, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(enabled.error_message(), refuses(clone));
  for (const TestVolume& member : with_clone.members) {
    EXPECT_EQ(MirrorState("a", member), "disabled");
  }

  // One that somebody else mirrored: b has nothing of its parent's data.
  Rbd("a", {"mirror", "image", "enable", parent, "snapshot"});
  for (TestVolume& member : with_clone.members) {
    Rbd("a", {"mirror", "image", "enable", ImageSpec(member), "snapshot"});
    member.id_b = Testbed("peer-journal", {"b", member.id_a});
    Synchronize("a", member);
  }
  ::replication::GetVolumeReplicationInfoResponse info;
  EXPECT_THAT(GroupInfo("a", with_clone, &info), HasCode(Code::OK));
  EXPECT_EQ(info.status(),
            ::replication::GetVolumeReplicationInfoResponse::ERROR);
  EXPECT_THAT(info.status_message(), HasSubstr("flatten"));
  const grpc::Status demoted = DemoteGroup("a", with_clone);
  EXPECT_THAT(demoted, HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(demoted.error_message(), refuses(clone));
  EXPECT_EQ(Primaries("a", with_clone), 2U);
}

TEST_F(GroupMembershipTest, AChangeThatDiesAnywhereIsFinishedByTheSameCall) {
  for (const std::string fault :
       {"rbd_group_image_add:kill-after", "rbd_mirror_image_enable2:kill",
        "rbd_mirror_image_enable2:kill-after",
        "rados_write_op_operate2#1:kill-after", "rbd_mirror_image_disable:kill",
        "rbd_mirror_image_disable:kill-after",
        "rbd_group_image_remove_by_id:kill-after",
        "rados_write_op_operate2#2:kill"}) {
    SCOPED_TRACE(fault);
    TestGroup group = MakeGroup(2);
    ASSERT_THAT(EnableGroup("a", group), HasCode(Code::OK));
    const TestVolume leaver = group.members[0];
    group.members[0] = MakeVolume();
    Restart("a", {{"RBD_ADDONS_FAULTS", fault}});
    EXPECT_THAT(Modify(group).status, HasCode(Code::UNAVAILABLE));
    EXPECT_TRUE(Daemon("a").WaitForEnd(20)) << "survived";
    Restart("a");
    EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
    EXPECT_EQ(MirrorState("a", leaver), "disabled");
    EXPECT_EQ(Primaries("a", group), 2U);
    EXPECT_THAT(Groups("a").Get(group.id).volumes,
                ElementsAreArray(IdsOf(group.members)));
    EXPECT_THAT(RbdGroupImages("a", group), SizeIs(2));
  }
}

// What librbd leaves that dies within the call that takes an image out: the
// image does not name the group any more, the group still has it.
// The lease is taken before, and finds room yet. What the OSDs drop then is
// never sent again: the change hung for ever, also when there was room again.
TEST_F(GroupMembershipTest, APoolThatBecomesFullInTheMiddleHoldsNoChangeUp) {
  TestGroup group = MakeGroup(1);
  group.members.push_back(MakeVolume());
  const std::string trace = Bed().Path("calls-of-a-full-pool");
  Restart("a", {{"RBD_ADDONS_FAULTS", "rbd_group_create#1:hang=30000"},
                {"RBD_ADDONS_CALL_TRACE", trace}});
  auto change =
      std::async(std::launch::async, [&] { return Modify(group).status; });
  const auto is_full = [] { return IsFull("a"); };
  EXPECT_TRUE(Eventually([&] {
    std::ifstream calls(trace);
    const std::string all{std::istreambuf_iterator<char>(calls), {}};
    return all.find("rbd_group_create") != std::string::npos;
  }));
  SetQuota("a", "max_objects", "1");
  EXPECT_TRUE(Eventually(is_full));
  // Where only keys of omaps are written the OSDs find room all the same.
  EXPECT_THAT(change.get(),
              AnyOf(HasCode(Code::OK), HasCode(Code::UNAVAILABLE)));
  EXPECT_TRUE(is_full());
  SetQuota("a", "max_objects", "0");
  EXPECT_TRUE(Eventually([&] { return !is_full(); }));
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_THAT(Groups("a").Get(group.id).volumes,
              ElementsAreArray(IdsOf(group.members)));
  Restart("a");
}

// What a person does who makes room: the volumes leave, and are deleted.
TEST_F(GroupMembershipTest, InAFullPoolMembersLeaveAndTheGroupGoes) {
  TestGroup group = MakeReplicatedGroup(2);
  const TestVolume leaver = group.members[1];
  TestGroup smaller = group;
  smaller.members.pop_back();
  SetQuota("a", "max_objects", "1");
  EXPECT_TRUE(Eventually([] { return IsFull("a"); }));
  const grpc::Status left = Modify(smaller).status;
  const grpc::Status disabled = DisableGroup("a", smaller);
  TestGroup empty = group;
  empty.members.clear();
  const grpc::Status emptied = Modify(empty).status;
  const grpc::Status deleted = Groups("a").Delete(group.id).status;
  const bool full = IsFull("a");
  // Before anything can end the test: other tests share the pool.
  SetQuota("a", "max_objects", "0");
  EXPECT_TRUE(Eventually([] { return !IsFull("a"); }));
  EXPECT_TRUE(full);
  EXPECT_THAT(left, HasCode(Code::OK));
  EXPECT_THAT(disabled, HasCode(Code::OK));
  EXPECT_THAT(emptied, HasCode(Code::OK));
  EXPECT_THAT(deleted, HasCode(Code::OK));
  for (const TestVolume& member : group.members) {
    EXPECT_EQ(MirrorState("a", member), "disabled");
  }
}

TEST_F(GroupMembershipTest, ALeaverThatIsHalfTakenOutLeaves) {
  TestGroup group = MakeGroup(2);
  const TestVolume leaver = group.members[1];
  Rbd("a", {"group", "image", "remove", RbdGroup(group), ImageSpec(leaver)});
  LeaveIncomplete("a", group, leaver);
  EXPECT_THAT(RbdGroupImages("a", group), Contains("incomplete"));
  group.members.pop_back();
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_THAT(RbdGroupImages("a", group),
              ElementsAre(ImageSpec(group.members[0])));
}

TEST_F(GroupMembershipTest, ReplicationOfAVolumesOwnOutlastsTheGroup) {
  constexpr char kMark[] = "rbd-addons.mirrored-for-group";
  TestGroup group = MakeReplicatedGroup(2);
  const TestVolume leaver = group.members[1];
  const TestVolume own = MakeReplicatedVolume();
  group.members.push_back(own);
  group.members.push_back(MakeVolume());
  const TestVolume plain = group.members[3];
  ASSERT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", plain), "enabled");
  EXPECT_NE(Metadata("a", plain, kMark), "");
  EXPECT_EQ(Metadata("a", own, kMark), "");

  // Here it leaves at the first site ...
  group.members.pop_back();
  EXPECT_THAT(Modify(group).status, HasCode(Code::OK));
  EXPECT_EQ(MirrorState("a", plain), "disabled");
  EXPECT_EQ(Metadata("a", plain, kMark), "");

  // ... and here at the other one, after a move: the marks have come along.
  WriteJournal("b", group, group.members);
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroupAtLast("b", group), HasCode(Code::OK));
  group.members = {group.members[0]};
  EXPECT_THAT(Groups("b").Modify(group.id, IdsOf(group.members)).status,
              HasCode(Code::OK));
  EXPECT_EQ(MirrorState("b", own), "enabled");
  EXPECT_TRUE(IsPrimary("b", own));
  EXPECT_EQ(MirrorState("b", leaver), "disabled");
  EXPECT_EQ(MirrorState("b", group.members[0]), "enabled");
}

// As several controllers of the operator make them, within milliseconds.
TEST_F(GroupMembershipTest, CallsForOneGroupAtTheSameTimeAllSucceed) {
  TestGroup group;
  for (int i = 0; i < 4; ++i) group.members.push_back(MakeVolume());
  const Ids all = IdsOf(group.members);
  const GroupReply created = Groups("a").Create(
      "vgrcontent-overlap", {all[0], all[1]}, !group.rados_namespace.empty());
  ASSERT_THAT(created.status, HasCode(Code::OK));
  group.id = created.id;

  std::vector<grpc::Status> answers(7);
  ::replication::ReplicationDestination destination;
  {
    std::vector<std::jthread> callers;
    const auto call = [&](size_t i, auto what) {
      callers.emplace_back([&answers, i, what] { answers[i] = what(); });
    };
    call(0, [&] {
      return Groups("a")
          .Create("vgrcontent-overlap", {all[0], all[1]},
                  !group.rados_namespace.empty())
          .status;
    });
    call(1, [&] { return Groups("a").Modify(group.id, all).status; });
    call(2, [&] { return EnableGroup("a", group); });
    call(3, [&] { return GroupDestination("a", group, &destination); });
    call(4, [&] { return Groups("a").Modify(group.id, all).status; });
    call(5, [&] { return EnableGroup("a", group); });
    call(6, [&] { return Groups("a").Get(group.id).status; });
  }
  EXPECT_THAT(answers, Each(HasCode(Code::OK)));
  EXPECT_THAT(PromoteGroup("a", group), HasCode(Code::OK));
  EXPECT_EQ(Primaries("a", group), 4U);
  EXPECT_THAT(Groups("a").Get(group.id).volumes, ElementsAreArray(all));
}

}  // namespace
}  // namespace addons::testing
