// What happens to the mirroring of volumes that join or leave a group.

#include "replication/membership.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "ceph/mirror.h"
#include "replication/look/record.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

class GroupMembershipTest : public GroupTest {
 protected:
  MembershipChange Change(Daemon& daemon, std::vector<std::string> kept,
                          std::vector<std::string> added,
                          std::vector<std::string> removed) {
    return {GroupHandle(GroupId()), daemon.site().user(), Handles(kept),
            Handles(added),         Handles(removed),     FlattenMode::kNever};
  }
  using Step = absl::Status (*)(OperationContext&, ReplicationEnvironment&,
                                const MembershipChange&, const SeenMirroring&);
  absl::Status Do(Step step, Daemon& daemon, const MembershipChange& change) {
    return Run([&](OperationContext& context) {
      return step(context, daemon.environment(), change, {});
    });
  }
  std::string AddPlainMember(size_t i) {
    ids_.push_back(pair_.AddVolume(a_, MemberUuid(i)));
    return ids_.back();
  }
  /// The members of AddMirroredGroup() are mirrored for the group.
  void AddReplicatedGroup(size_t members) {
    AddMirroredGroup(members);
    for (size_t i = 0; i < members; ++i) {
      a_.SetImageMetadata(Image(i), kGroupMark, MemberUuid(i));
    }
  }
  std::atomic<bool> ill_{false};
  MirrorImageState StateOf(size_t i) { return a_.Info(Image(i)).state; }
};

TEST_F(GroupMembershipTest, VolumeThatJoinsIsMirroredLikeTheOthers) {
  AddMirroredGroup(2);
  ASSERT_OK(PromoteAll(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  const std::string schedules = a_.Schedules();
  const std::string added = AddPlainMember(2);
  const MembershipChange change =
      Change(on_a_, {ids_[0], ids_[1]}, {added}, {});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kEnabled);
  EXPECT_NE(a_.Schedules(), schedules);
  world_.ClearCalls();
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, VolumeThatLeavesIsMirroredNoMoreAndTheOthersAre) {
  AddReplicatedGroup(3);
  const MembershipChange change =
      Change(on_a_, {ids_[0], ids_[1]}, {}, {ids_[2]});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kEnabled);
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kDisabled);
  EXPECT_EQ(MirroredOn(a_), 2U);
  EXPECT_EQ(a_.ImageMetadata(Image(2)).count(kGroupMark), 0U);
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
}

// For the group or not: that a volume is mirrored for itself tells alone.
TEST_F(GroupMembershipTest, VolumeWithReplicationOfItsOwnKeepsItWhenItLeaves) {
  AddReplicatedGroup(2);
  ids_.push_back(pair_.AddMirroredVolume(a_, MemberUuid(2)));
  AddGroup(a_);
  world_.Advance(minutes(1));
  const std::string own = ids_[2];
  const MembershipChange joins = Change(on_a_, {ids_[0], ids_[1]}, {own}, {});
  EXPECT_OK(Do(&EnableAdded, on_a_, joins));
  const MembershipChange leaves = Change(on_a_, {ids_[0], ids_[1]}, {}, {own});
  world_.ClearCalls();
  EXPECT_OK(Do(&CheckGroupChange, on_a_, leaves));
  EXPECT_OK(Do(&DisableRemoved, on_a_, leaves));
  EXPECT_EQ(StateOf(2), MirrorImageState::kEnabled);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, LeaverOfAGroupOnThePeerTakesItsMarkAlong) {
  AddPlainGroup(2);
  AddGroup(b_);
  ASSERT_OK(EnableAll(on_a_));
  for (size_t i = 0; i < 2; ++i) pair_.AddJournal(b_, MemberUuid(i));
  world_.Advance(minutes(1));
  ASSERT_OK(DemoteAll(on_a_));
  ASSERT_OK(PromoteAll(on_b_));
  world_.Advance(minutes(1));
  EXPECT_OK(
      Do(&DisableRemoved, on_b_, Change(on_b_, {ids_[0]}, {}, {ids_[1]})));
  EXPECT_EQ(b_.Info(Image(0)).state, MirrorImageState::kEnabled);
  EXPECT_EQ(b_.Info(Image(1)).state, MirrorImageState::kDisabled);
}

TEST_F(GroupMembershipTest, DisableForgetsTheGroupAlsoAfterADeathInBetween) {
  AddReplicatedGroup(1);
  const MembershipChange change = Change(on_a_, {}, {}, {ids_[0]});
  Fail("rbd_metadata_remove", EIO, 1);
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(0), MirrorImageState::kDisabled);
  EXPECT_EQ(a_.ImageMetadata(Image(0)).count(kGroupMark), 0U);
  // Mirroring is off, and the mark is still there.
  a_.SetImageMetadata(Image(0), kGroupMark, MemberUuid(0));
  EXPECT_OK(DisableAll(on_a_));
  EXPECT_EQ(a_.ImageMetadata(Image(0)).count(kGroupMark), 0U);
}

TEST_F(GroupMembershipTest, EnableForTheVolumeItselfForgetsTheGroup) {
  AddPlainGroup(1);
  a_.SetImageMetadata(Image(0), kGroupMark, MemberUuid(0));
  id_ = ids_[0];
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(StateOf(0), MirrorImageState::kEnabled);
  EXPECT_EQ(a_.ImageMetadata(Image(0)).count(kGroupMark), 0U);
}

TEST_F(GroupMembershipTest, AllMembersMayBeReplaced) {
  AddReplicatedGroup(1);
  const std::string added = AddPlainMember(1);
  const MembershipChange change = Change(on_a_, {}, {added}, {ids_[0]});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(0), MirrorImageState::kDisabled);
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
}

TEST_F(GroupMembershipTest, GroupThatIsNotReplicatedMirrorsNothing) {
  AddPlainGroup(2);
  const std::string added = AddPlainMember(2);
  const MembershipChange change = Change(on_a_, {ids_[0]}, {added}, {ids_[1]});
  world_.ClearCalls();
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, SecondarySiteChangesNothing) {
  AddMirroredGroup(2);
  world_.ClearCalls();
  const MembershipChange change = Change(on_b_, {ids_[0]}, {}, {ids_[1]});
  EXPECT_OK(Do(&CheckGroupChange, on_b_, change));
  EXPECT_OK(Do(&DisableRemoved, on_b_, change));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, GroupInTheMiddleOfAMoveIsLeftAlone) {
  AddMirroredGroup(2);
  a_.Demote(Image(0));
  const std::string added = AddPlainMember(2);
  EXPECT_THAT(Do(&CheckGroupChange, on_a_,
                 Change(on_a_, {ids_[0], ids_[1]}, {added}, {})),
              StatusIs(kFailedPrecondition, HasSubstr("finish the move")));
}

TEST_F(GroupMembershipTest, VolumeThatCannotBeMirroredIsRefusedBeforehand) {
  AddMirroredGroup(1);
  const std::string added = AddPlainMember(1);
  a_.EnableMirroring(Image(1), MirrorMode::kJournal);
  EXPECT_THAT(
      Do(&CheckGroupChange, on_a_, Change(on_a_, {ids_[0]}, {added}, {})),
      StatusIs(kFailedPrecondition, HasSubstr(added)));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupMembershipTest, VolumeThatIsSecondaryHereIsRefused) {
  AddMirroredGroup(2);
  a_.Demote(Image(1));
  world_.Advance(seconds(10));
  EXPECT_THAT(
      Do(&CheckGroupChange, on_a_, Change(on_a_, {ids_[0]}, {ids_[1]}, {})),
      StatusIs(kFailedPrecondition, HasSubstr("secondary on this site")));
}

TEST_F(GroupMembershipTest, VolumesThatAreMirroredEachForItselfStaySo) {
  AddMirroredGroup(2);
  const std::string plain = AddPlainMember(2);
  const MembershipChange change =
      Change(on_a_, {ids_[0], plain}, {}, {ids_[1]});
  world_.ClearCalls();
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, AnInterruptedEmptyingIsFinished) {
  AddReplicatedGroup(3);
  const MembershipChange one = Change(on_a_, {}, {}, {ids_[0]});
  ASSERT_OK(Do(&DisableRemoved, on_a_, one));
  EXPECT_OK(Do(&DisableRemoved, on_a_,
               Change(on_a_, {}, {}, {ids_[0], ids_[1], ids_[2]})));
  EXPECT_EQ(MirroredOn(a_), 0U);
}

TEST_F(GroupMembershipTest, MemberThatCannotBeLookedAtDecidesNothing) {
  AddMirroredGroup(2);
  const std::string added = AddPlainMember(2);
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_get_info" && ill_.exchange(false) ? EIO
                                                                       : 0;
  });
  const MembershipChange change =
      Change(on_a_, {ids_[0], ids_[1]}, {added}, {});
  ill_ = true;
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kEnabled);
}

TEST_F(GroupMembershipTest, NothingIsChangedWhenNoMemberCanBeLookedAt) {
  AddMirroredGroup(1);
  const std::string added = AddPlainMember(1);
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_get_info" ? ETIMEDOUT : 0;
  });
  EXPECT_THAT(
      Do(&CheckGroupChange, on_a_, Change(on_a_, {ids_[0]}, {added}, {})),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupMembershipTest, DeletedMemberSaysNothingAboutTheOthers) {
  AddMirroredGroup(1);
  const std::string gone = pair_.VolumeId(a_, MemberUuid(7));
  const std::string added = AddPlainMember(1);
  const MembershipChange change = Change(on_a_, {gone, ids_[0]}, {added}, {});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
}

}  // namespace
}  // namespace addons::testing
