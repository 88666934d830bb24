// Volumes that join or leave a group whose members are mirrored, through the
// verbs of groups.

#include <gmock/gmock.h>

#include "ceph/mirror.h"
#include "replication/group/disable.h"
#include "replication/group/enable.h"
#include "replication/group/promote.h"
#include "replication/look/record.h"
#include "replication/steps/enable.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/promote.h"
#include "tests/unit/volumegroup/groups_fixture.h"

namespace addons::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;

class MirroredMembersTest : public GroupTest {
 protected:
  MirroredMembersTest() {
    on_a_.replication().next = MirroringOf(on_a_.mirroring());
  }

  GroupTarget Group() {
    return {GroupHandle(group_), on_a_.site().user(), Handles(ids_)};
  }
  /// The group of `ids_`, of volumes on a, is mirrored every 5 minutes.
  void MirrorGroup() {
    const auto group = Create(on_a_, "vg", ids_);
    ASSERT_OK(group);
    group_ = group->group_id;
    const auto parameters =
        ReplicationParameters::Parse({{"schedulingInterval", "5m"}});
    {
      TestOperationContext context(world_);
      context.SetClock(clock_);
      ASSERT_OK(EnableGroup(context, on_a_.mirroring(), Group(), *parameters));
    }
    // rbd-mirror of both sites has reported on what it has.
    world_.Advance(std::chrono::minutes(1));
    {
      TestOperationContext context(world_);
      context.SetClock(clock_);
      ASSERT_OK(PromoteGroup(context, on_a_.mirroring(), Group(), Force::kNo,
                             *parameters));
    }
    for (const std::string& id : ids_) pair_.AddJournal(b_, UuidOf(id));
    world_.Advance(std::chrono::minutes(1));
  }
  /// Of two volumes, 1 and 2.
  void MakeMirroredGroup() {
    ids_ = AddVolumes(2);
    MirrorGroup();
  }
  /// As a VolumeReplication of its own asks for it.
  void MirrorForItself(const std::string& id) {
    TestOperationContext context(world_);
    context.SetClock(clock_);
    EXPECT_OK(Enable(context, on_a_.mirroring(),
                     {{VolumeHandle(id), on_a_.site().user()}, {}}));
    world_.Advance(std::chrono::minutes(1));
  }
  /// Likewise.
  void PromoteForItself(const std::string& id, const std::string& interval) {
    TestOperationContext context(world_);
    context.SetClock(clock_);
    EXPECT_OK(Promote(
        context, on_a_.mirroring(),
        {{VolumeHandle(id), on_a_.site().user()},
         Force::kNo,
         *ReplicationParameters::Parse({{"schedulingInterval", interval}})}));
  }
  void PromoteTheGroup(const std::string& interval) {
    TestOperationContext context(world_);
    context.SetClock(clock_);
    EXPECT_OK(PromoteGroup(
        context, on_a_.mirroring(), Group(), Force::kNo,
        *ReplicationParameters::Parse({{"schedulingInterval", interval}})));
  }
  std::string AddMirroredVolume(int number) {
    std::string id = AddVolume(number);
    MirrorForItself(id);
    return id;
  }
  /// The same with volume 4, which had replication of its own before.
  void MakeGroupWithOwn() {
    MakeMirroredGroup();
    ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], AddMirroredVolume(4)}));
  }
  bool Mirrored(int number) {
    return a_.Info(Image(number)).state == MirrorImageState::kEnabled;
  }

  std::vector<std::string> ids_;
  std::string group_;
};

TEST_F(MirroredMembersTest, AVolumeThatJoinsIsMirroredWithTheSchedule) {
  MakeMirroredGroup();
  const std::string added = AddVolume(3);
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], added}));
  EXPECT_TRUE(Mirrored(3));
  EXPECT_THAT(a_.Schedules(), HasSubstr(Image(3)));
  EXPECT_THAT(Members(group_), ElementsAre(ids_[0], ids_[1], added));
  // Once more costs nothing.
  world_.ClearCalls();
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], added}));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(CountReads(), 1);
}

TEST_F(MirroredMembersTest, OneThatIsNamedByARepeatedCreateIsMirroredToo) {
  MakeMirroredGroup();
  ASSERT_OK(Create(on_a_, "vg", {ids_[0], AddVolume(3)}));
  EXPECT_TRUE(Mirrored(3));
  EXPECT_TRUE(Mirrored(2));
}

TEST_F(MirroredMembersTest, CallsThatChangeNothingAreFineDuringAMove) {
  MakeMirroredGroup();
  a_.Demote(Image(1));
  EXPECT_OK(Create(on_a_, "vg", ids_));
  EXPECT_OK(Modify(on_a_, group_, ids_));
  EXPECT_THAT(Modify(on_a_, group_, {ids_[0], ids_[1], AddVolume(3)}),
              StatusIs(kFailedPrecondition, HasSubstr("finish the move")));
}

TEST_F(MirroredMembersTest, AVolumeThatLeavesIsNotMirroredAnyMore) {
  MakeMirroredGroup();
  ASSERT_OK(Modify(on_a_, group_, {ids_[0]}));
  EXPECT_TRUE(Mirrored(1));
  EXPECT_FALSE(Mirrored(2));
  EXPECT_THAT(Members(group_), ElementsAre(ids_[0]));
  ASSERT_OK(Modify(on_a_, group_, {}));
  EXPECT_FALSE(Mirrored(1));
}

TEST_F(MirroredMembersTest, ReplicationOfAVolumesOwnOutlastsTheGroup) {
  MakeMirroredGroup();
  const std::string own = AddMirroredVolume(3);
  const std::string plain = AddVolume(4);
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], own, plain}));
  EXPECT_TRUE(Mirrored(4));
  ASSERT_OK(Modify(on_a_, group_, {ids_[0]}));
  EXPECT_TRUE(Mirrored(1));
  EXPECT_FALSE(Mirrored(2));
  EXPECT_TRUE(Mirrored(3));
  EXPECT_FALSE(Mirrored(4));
  EXPECT_THAT(Members(group_), ElementsAre(ids_[0]));
  // One that came without replication, and left, has none of its own.
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], own, plain}));
  ASSERT_OK(Modify(on_a_, group_, {}));
  EXPECT_TRUE(Mirrored(3));
  EXPECT_FALSE(Mirrored(4));
}

TEST_F(MirroredMembersTest, AScheduleOfItsOwnComesBackWithTheVolume) {
  MakeMirroredGroup();
  const std::string own = AddMirroredVolume(3);
  PromoteForItself(own, "1h");
  const std::string before = a_.Schedules();
  EXPECT_THAT(before, HasSubstr("1h"));
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], own}));
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr("1h")));
  // A group that moves is promoted with its schedule again.
  ids_.push_back(own);
  PromoteTheGroup("10m");
  ids_.pop_back();
  EXPECT_THAT(a_.Schedules(), Not(HasSubstr("1h")));
  ASSERT_OK(Modify(on_a_, group_, {ids_[0]}));
  EXPECT_TRUE(Mirrored(3));
  EXPECT_THAT(a_.Schedules(), HasSubstr("1h"));
  EXPECT_THAT(a_.ImageMetadata(Image(3)), Not(Contains(Key(kOwnScheduleMark))));
}

TEST_F(MirroredMembersTest, AMemberThatIsEnabledForItselfStaysMirrored) {
  MakeMirroredGroup();
  MirrorForItself(ids_[1]);
  EXPECT_THAT(a_.ImageMetadata(Image(2)), Not(Contains(Key(kGroupMark))));
  ASSERT_OK(Modify(on_a_, group_, {}));
  EXPECT_FALSE(Mirrored(1));
  EXPECT_TRUE(Mirrored(2));
}

TEST_F(MirroredMembersTest, ItIsTheVolumesOwnAlsoWhereTheGroupCameLater) {
  ids_ = {AddMirroredVolume(1), AddVolume(2)};
  MirrorGroup();
  EXPECT_TRUE(Mirrored(2));
  ASSERT_OK(Modify(on_a_, group_, {}));
  EXPECT_TRUE(Mirrored(1));
  EXPECT_FALSE(Mirrored(2));
}

// The mark of the group does not outlast its mirroring.
TEST_F(MirroredMembersTest, ReplicationThatBeganAfterTheGroupsIsTheVolumesOwn) {
  MakeMirroredGroup();
  {
    TestOperationContext context(world_);
    context.SetClock(clock_);
    ASSERT_OK(DisableGroup(context, on_a_.mirroring(), Group(), {}));
  }
  EXPECT_FALSE(Mirrored(1));
  EXPECT_THAT(a_.ImageMetadata(Image(1)), Not(Contains(Key(kGroupMark))));
  for (const std::string& id : ids_) MirrorForItself(id);
  ASSERT_OK(Modify(on_a_, group_, {ids_[0]}));
  EXPECT_TRUE(Mirrored(2));
}

TEST_F(MirroredMembersTest, ACloneOfAMemberIsNotTakenForOne) {
  MakeMirroredGroup();
  const std::string own = AddMirroredVolume(3);
  // As a clone inherits it.
  a_.SetImageMetadata(Image(3), kGroupMark, Uuid(1));
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], own}));
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1]}));
  EXPECT_TRUE(Mirrored(3));
}

TEST_F(MirroredMembersTest, AGroupThatIsNotReplicatedMirrorsNothing) {
  ids_ = AddVolumes(3);
  const auto group = Create(on_a_, "vg", {ids_[0], ids_[1]});
  ASSERT_OK(group);
  ASSERT_OK(Modify(on_a_, group->group_id, {ids_[1], ids_[2]}));
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(Mirrored(i)) << i;
}

TEST_F(MirroredMembersTest, AVolumeThatCannotBeMirroredChangesNothing) {
  MakeMirroredGroup();
  const std::string bad = AddVolume(3);
  a_.EnableMirroring(Image(3), MirrorMode::kJournal);
  world_.ClearCalls();
  EXPECT_THAT(Modify(on_a_, group_, {ids_[0], bad, AddVolume(4)}),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr(bad), HasSubstr("1 ready"))));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_THAT(Members(group_), ElementsAre(ids_[0], ids_[1]));
}

// Parents matter only once the group is replicated.
TEST_F(MirroredMembersTest, ACloneJoinsUnlessItsParentIsMissingOnThePeer) {
  MakeMirroredGroup();
  AddVolume(3);
  a_.AddClone(Image(3), Image(4));
  pair_.AddJournal(a_, Uuid(4));
  const std::string clone = pair_.VolumeId(a_, Uuid(4));
  EXPECT_THAT(Modify(on_a_, group_, {ids_[0], ids_[1], clone}),
              StatusIs(kFailedPrecondition, HasSubstr("parent")));
  EXPECT_OK(Create(on_a_, "plain", {clone}));
  EXPECT_FALSE(Mirrored(4));
}

TEST_F(MirroredMembersTest, DeletedMembersBlockNoChange) {
  MakeMirroredGroup();
  a_.RemoveImage(Image(1));
  const std::string added = AddVolume(3);
  // The deleted one stays at first, then it leaves.
  ASSERT_OK(Modify(on_a_, group_, {ids_[0], ids_[1], added}));
  EXPECT_TRUE(Mirrored(3));
  ASSERT_OK(Modify(on_a_, group_, {ids_[1], added}));
  EXPECT_THAT(Members(group_), ElementsAre(ids_[1], added));
}

TEST_F(MirroredMembersTest, OnTheSecondarySiteMirroringStaysAsItIs) {
  on_b_.replication().next = MirroringOf(on_b_.mirroring());
  MakeMirroredGroup();
  const auto group =
      Create(on_b_, "vg", ids_, {{"clusterID", "site-b"}, {"pool", kPool}});
  ASSERT_OK(group);
  ASSERT_OK(Modify(on_b_, group->group_id, {ids_[0]}));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_EQ(b_.Info(Image(i)).state, MirrorImageState::kEnabled);
  }
}

TEST_F(MirroredMembersTest, AChangeThatDiesAnywhereIsFinishedByTheSameCall) {
  // Counts the changes first.
  int changes = 0;
  {
    MakeGroupWithOwn();
    world_.ClearCalls();
    ASSERT_OK(Modify(on_a_, group_, {ids_[0], AddVolume(3)}));
    changes = world_.CountMutations();
    EXPECT_GE(changes, 6);
  }
  for (const bool after : {false, true}) {
    for (int at = 1; at <= changes; ++at) {
      SCOPED_TRACE(absl::StrCat("change ", at, after ? " after" : " before"));
      class Scene : public MirroredMembersTest {
       public:
        void TestBody() override {}
        void Die(int at, bool after) {
          on_a_.environment().options.concurrency = 1;
          MakeGroupWithOwn();
          const std::string added = AddVolume(3);
          world_.StrikeAtMutation(at, 0, after);
          try {
            (void)Modify(on_a_, group_, {ids_[0], added});
          } catch (const FakeCrash&) {
          }
          world_.SetCallHook(nullptr);
          EXPECT_OK(Modify(on_a_, group_, {ids_[0], added}));
          EXPECT_TRUE(Mirrored(1));
          EXPECT_FALSE(Mirrored(2));
          EXPECT_TRUE(Mirrored(3));
          EXPECT_TRUE(Mirrored(4));
          EXPECT_THAT(a_.Schedules(),
                      AllOf(HasSubstr(Image(1)), HasSubstr(Image(3))));
          EXPECT_THAT(Members(group_), ElementsAre(ids_[0], added));
          EXPECT_THAT(RbdGroups().at("csi-vol-group-" + UuidOf(group_)),
                      ElementsAre(Image(1), Image(3)));
          EXPECT_THAT(world_.Violations(), IsEmpty());
        }
      } scene;
      scene.Die(at, after);
    }
  }
}

}  // namespace
}  // namespace addons::testing
