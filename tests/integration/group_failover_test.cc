// Failover of a volume group between two real sites: planned moves keep all
// members at one point in time, a lagging member holds back the others, an
// unplanned one takes what it can, and the way back.

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cluster/test_group.h"
#include "tests/cluster/volume_group_client.h"

namespace addons::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

const bool kGroupDisasterBed = OnBluestore({"GroupDisasterTest"});

/// Planned moves.
class GroupMoveTest : public GroupSitesTest {};

TEST_F(GroupMoveTest, EveryMemberHasTheLastValueAfterEachMove) {
  const TestGroup group = MakeReplicatedGroup(3);
  {
    // While the workload runs nothing is demoted.
    CounterWriters writers(OpenDisks("a", group));
    ASSERT_TRUE(Eventually([&] { return writers.written() >= 20; }));
    const grpc::Status refused = DemoteGroup("a", group);
    EXPECT_THAT(refused, HasCode(Code::FAILED_PRECONDITION));
    EXPECT_THAT(refused.error_message(), HasSubstr("3 refused"));
    EXPECT_EQ(Primaries("a", group), 3U);
  }
  const int first = WriteCounter("a", group, 50);
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  EXPECT_EQ(Primaries("a", group), 0U);
  EXPECT_THAT(PromoteGroupAtLast("b", group), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 3U);
  EXPECT_THAT(Counters("b", group), Each(first));

  // And back, with every call made twice.
  const int second = WriteCounter("b", group, first + 50);
  EXPECT_THAT(DemoteGroup("b", group), HasCode(Code::OK));
  EXPECT_THAT(DemoteGroup("b", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroupAtLast("a", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(Counters("a", group), Each(second));
}

TEST_F(GroupMoveTest, MembersThatADeathLeavesIncompleteAreMadeWhole) {
  const TestGroup group = MakeReplicatedGroup(3);
  std::vector<std::string> images;
  for (const TestVolume& member : group.members) {
    images.push_back(ImageSpec(member));
  }
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  // All are added at the same time: the others are somewhere in between when
  // the first one is done.
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_group_image_add#1:kill-after"}});
  EXPECT_THAT(PromoteGroup("b", group), HasCode(Code::UNAVAILABLE));
  EXPECT_TRUE(Daemon("b").WaitForEnd(20)) << "survived";
  Restart("b");
  EXPECT_THAT(PromoteGroupAtLast("b", group), HasCode(Code::OK));
  EXPECT_THAT(RbdGroupImages("b", group), UnorderedElementsAreArray(images));

  // For certain in between.
  LeaveIncomplete("b", group, group.members[1]);
  EXPECT_THAT(RbdGroupImages("b", group), Contains("incomplete"));
  EXPECT_THAT(PromoteGroup("b", group), HasCode(Code::OK));
  EXPECT_THAT(RbdGroupImages("b", group), UnorderedElementsAreArray(images));
}

TEST_F(GroupMoveTest, AMemberWithoutReplicationIsNoReasonToForce) {
  const TestGroup group = MakeReplicatedGroup(2);
  TestVolume stranger;
  std::vector<std::string> volume = {"b", "pvc-without-replication"};
  if (!group.rados_namespace.empty()) {
    volume.insert(
        volume.end(),
        {"--namespace", RealBed::NamespaceOn("b", group.rados_namespace)});
  }
  stranger.id_a = Testbed("volume", volume);
  WriteJournal("b", group, {stranger});
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  const auto answers = PromoteGroupRepeatedly("b", group, seconds(15));
  EXPECT_THAT(answers, Each(HasCode(Code::UNAVAILABLE)));
  EXPECT_THAT(answers.back().error_message(),
              AllOf(HasSubstr(stranger.id_a), HasSubstr("not enabled")));
  EXPECT_EQ(Primaries("b", group), 0U);

  // As ceph-csi's controller, or Modify, takes it out.
  Rados(
      "b", group.members[0],
      {"rmomapkey", "csi.volume.group." + group.id.substr(group.id.size() - 36),
       stranger.id_a});
  EXPECT_THAT(PromoteGroupRepeatedly("b", group, seconds(120)).back(),
              HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 2U);
}

// As orchestrators that rewrite their objects to the ids of the destination.
TEST_F(GroupMoveTest, AGroupUnderItsIdOnTheOtherSiteIsAdoptedAndMoves) {
  const TestGroup group = MakeReplicatedGroup(3);
  Rados("b", group.members[0],
        {"rm", "csi.volume.group." + group.id.substr(group.id.size() - 36)});
  TestGroup there = group;
  there.id = group.id_b;
  const grpc::Status unknown = PromoteGroup("b", there);
  EXPECT_THAT(unknown, HasCode(Code::NOT_FOUND));
  EXPECT_THAT(unknown.error_message(),
              HasSubstr("ModifyVolumeGroupMembership"));

  std::vector<std::string> volumes;
  std::vector<std::string> images;
  for (const TestVolume& member : group.members) {
    volumes.push_back(member.id_b);
    images.push_back(ImageSpec(member));
  }
  const VolumeGroupClient groups("b", Daemon("b").socket());
  EXPECT_THAT(groups.Modify(there.id, volumes).status, HasCode(Code::OK));
  // Copies stay out of it.
  EXPECT_THAT(RbdGroupImages("b", group), IsEmpty());

  const int last = WriteCounter("a", group, 50);
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(PromoteGroupAtLast("b", there), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 3U);
  EXPECT_THAT(Counters("b", group), Each(last));
  EXPECT_THAT(RbdGroupImages("b", group), UnorderedElementsAreArray(images));
}

TEST_F(GroupMoveTest, EnableInfoDestinationAndDisable) {
  const TestGroup group = MakeGroup(3);
  EXPECT_THAT(EnableGroup("a", group, {}), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_EQ(MirrorState("a", group.members[0]), "disabled");
  EXPECT_THAT(EnableGroup("a", group), HasCode(Code::OK));
  // Without one, of any level, nobody is protected.
  const auto schedule = [&](const std::string& verb) {
    Rbd("a", {"mirror", "snapshot", "schedule", verb, "--pool", RealBed::kPool,
              "--namespace", group.rados_namespace, "1h"});
  };
  schedule("add");
  for (const TestVolume& member : group.members) {
    EXPECT_EQ(MirrorState("a", member), "enabled");
  }
  // The peer has no journal of the group yet.
  EXPECT_THAT(DemoteGroup("b", group), HasCode(Code::NOT_FOUND));

  ::replication::ReplicationDestination destination;
  EXPECT_THAT(GroupDestination("a", group, &destination), HasCode(Code::OK));
  EXPECT_EQ(destination.volumegroup().volume_group_id(), group.id_b);
  EXPECT_EQ(destination.volumegroup().volume_ids_size(), 3);

  ::replication::GetVolumeReplicationInfoResponse info;
  EXPECT_TRUE(Eventually(
      [&] {
        return GroupInfo("a", group, &info).ok() &&
               info.status() ==
                   ::replication::GetVolumeReplicationInfoResponse::HEALTHY;
      },
      seconds(120)))
      << info.status_message();
  EXPECT_TRUE(info.has_last_sync_time());
  EXPECT_THAT(info.status_message(), HasSubstr("3 healthy"));
  schedule("remove");

  EXPECT_THAT(DisableGroup("a", group), HasCode(Code::OK));
  EXPECT_THAT(DisableGroup("a", group), HasCode(Code::OK));
  for (const TestVolume& member : group.members) {
    EXPECT_EQ(MirrorState("a", member), "disabled");
  }
}

/// One member is behind the others.
class GroupLagTest : public GroupSitesTest {};

TEST_F(GroupLagTest, NoneIsPromotedWhileADemotionHasNotArrived) {
  const TestGroup group = MakeReplicatedGroup(3);
  // The first two are demoted and arrive; then rbd-mirror of b stops, and the
  // third one's demotion does not.
  const int last = WriteCounter("a", group, 30);
  for (const size_t i : {0, 1}) {
    EXPECT_THAT(Demote("a", group.members[i]), HasCode(Code::OK));
    EXPECT_TRUE(Eventually([&] {
      const SeenSnapshot newest = NewestSnapshot("b", group.members[i]);
      return newest.demoted && newest.complete;
    }));
  }
  Stop("b", "rbd-mirror");
  // Finds two members done and finishes the third.
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  const std::vector<grpc::Status> waited =
      PromoteGroupRepeatedly("b", group, seconds(30), seconds(15));
  EXPECT_THAT(waited, Each(HasCode(Code::UNAVAILABLE)));
  // Without rbd-mirror here the other two do not know what became of theirs.
  EXPECT_THAT(waited.back().error_message(), HasSubstr("3 waiting"));
  EXPECT_EQ(Primaries("b", group), 0U);

  Continue("b", "rbd-mirror");
  const std::vector<grpc::Status> answers =
      PromoteGroupRepeatedly("b", group, seconds(150));
  EXPECT_THAT(answers,
              Each(AnyOf(HasCode(Code::UNAVAILABLE), HasCode(Code::OK))));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 3U);
  EXPECT_THAT(Counters("b", group), Each(last));
}

TEST_F(GroupLagTest, DaemonThatDiesWhileItPromotesIsFinishedByTheRetry) {
  const TestGroup group = MakeReplicatedGroup(3);
  const int last = WriteCounter("a", group, 30);
  EXPECT_THAT(DemoteGroup("a", group), HasCode(Code::OK));
  // A member at a time, so that the death leaves some promoted and some not,
  // or none at all.
  Restart("b", {{"RBD_ADDONS_FAULTS", "rbd_mirror_image_promote#2:kill"}});
  EXPECT_FALSE(PromoteGroup("b", group).ok());
  Restart("b");
  const std::vector<grpc::Status> answers =
      PromoteGroupRepeatedly("b", group, seconds(150), seconds(60));
  EXPECT_THAT(answers.back(), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 3U);
  EXPECT_THAT(Counters("b", group), Each(last));
}

/// Site a is lost, and comes back.
class GroupDisasterTest : public GroupSitesTest {};

TEST_F(GroupDisasterTest, UnplannedFailoverAndFailbackWithResync) {
  TestGroup group = MakeReplicatedGroup(3);
  WriteCounter("a", group, 20);
  for (const TestVolume& member : group.members) Synchronize("a", member);
  const std::vector<int> safe = Counters("b", group);

  Stop("a", "all");
  // First the members wait, then the answer is that force is right.
  const std::vector<grpc::Status> answers =
      PromoteGroupRepeatedly("b", group, seconds(300), seconds(60));
  EXPECT_THAT(answers.back(), HasCode(Code::FAILED_PRECONDITION));
  EXPECT_THAT(answers.back().error_message(),
              HasSubstr("only individually crash-consistent"));
  EXPECT_EQ(Primaries("b", group), 0U);
  EXPECT_THAT(PromoteGroup("b", group, /*force=*/true), HasCode(Code::OK));
  EXPECT_EQ(Primaries("b", group), 3U);
  EXPECT_EQ(Counters("b", group), safe);
  EXPECT_THAT(PromoteGroup("b", group, /*force=*/true), HasCode(Code::OK));
  const int last = WriteCounter("b", group, 100);

  Continue("a", "all");
  // An OSD that was away for so long stays laggy until the map says so.
  Testbed("ceph", {"a", "osd", "down", "0"});
  EXPECT_TRUE(
      Eventually([&] { return DemoteGroup("a", group).ok(); }, seconds(150)));
  EXPECT_EQ(Primaries("a", group), 0U);
  bool ready = false;
  grpc::Status status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = ResyncGroup("a", group, /*force=*/true, &ready);
        return status.ok() && ready;
      },
      seconds(300)))
      << status.error_message();
  // The copies that were replaced left their rbd group first, so nothing keeps
  // rbd-mirror from deleting them.
  EXPECT_TRUE(Eventually(
      [&] {
        return Rbd("a", {"trash", "list", "--all", "--pool", RealBed::kPool,
                         "--namespace", group.rados_namespace})
            .empty();
      },
      seconds(60)));
  EXPECT_THAT(RbdGroupImages("a", group), IsEmpty());
  EXPECT_THAT(RbdGroupImages("b", group), SizeIs(3));
  EXPECT_TRUE(
      Eventually([&] { return DemoteGroup("b", group).ok(); }, seconds(150)));
  const std::vector<grpc::Status> back =
      PromoteGroupRepeatedly("a", group, seconds(150));
  EXPECT_THAT(back.back(), HasCode(Code::OK));
  EXPECT_EQ(Primaries("a", group), 3U);
  EXPECT_THAT(Counters("a", group), Each(last));
  EXPECT_THAT(RbdGroupImages("a", group), SizeIs(3));
}

}  // namespace
}  // namespace addons::testing
