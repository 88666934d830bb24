// What happens to the mirroring of volumes that join or leave a group.

#include "replication/group_membership.h"

#include <atomic>
#include <cerrno>
#include <utility>

#include "tests/unit/replication/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;

class GroupMembershipTest : public GroupTest {
 protected:
  GroupChange Change(Daemon& daemon, std::vector<std::string> kept,
                     std::vector<std::string> added,
                     std::vector<std::string> removed) {
    return {GroupId(),        daemon.site().user(), std::move(kept),
            std::move(added), std::move(removed),   FlattenMode::kNever};
  }
  using Step = absl::Status (*)(OperationContext&, ReplicationEnvironment&,
                                const GroupChange&);
  absl::Status Do(Step step, Daemon& daemon, const GroupChange& change) {
    return Run([&](OperationContext& context) {
      return step(context, daemon.environment(), change);
    });
  }
  std::string AddPlainMember(size_t i) {
    ids_.push_back(pair_.AddVolume(a_, MemberUuid(i)));
    return ids_.back();
  }
  std::atomic<bool> ill_{false};
  MirrorImageState StateOf(size_t i) { return a_.Info(Image(i)).state; }
};

TEST_F(GroupMembershipTest, VolumeThatJoinsIsMirroredLikeTheOthers) {
  AddMirroredGroup(2);
  ASSERT_OK(PromoteAll(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  const std::string schedules = a_.Schedules();
  const std::string added = AddPlainMember(2);
  const GroupChange change = Change(on_a_, {ids_[0], ids_[1]}, {added}, {});
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
  AddMirroredGroup(3);
  const GroupChange change = Change(on_a_, {ids_[0], ids_[1]}, {}, {ids_[2]});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kEnabled);
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(2), MirrorImageState::kDisabled);
  EXPECT_EQ(MirroredOn(a_), 2U);
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
}

TEST_F(GroupMembershipTest, AllMembersMayBeReplaced) {
  AddMirroredGroup(1);
  const std::string added = AddPlainMember(1);
  const GroupChange change = Change(on_a_, {}, {added}, {ids_[0]});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(0), MirrorImageState::kDisabled);
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
}

TEST_F(GroupMembershipTest, GroupThatIsNotReplicatedMirrorsNothing) {
  AddPlainGroup(2);
  const std::string added = AddPlainMember(2);
  const GroupChange change = Change(on_a_, {ids_[0]}, {added}, {ids_[1]});
  world_.ClearCalls();
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, SecondarySiteChangesNothing) {
  AddMirroredGroup(2);
  world_.ClearCalls();
  const GroupChange change = Change(on_b_, {ids_[0]}, {}, {ids_[1]});
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
  const GroupChange change = Change(on_a_, {ids_[0], plain}, {}, {ids_[1]});
  world_.ClearCalls();
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&DisableRemoved, on_a_, change));
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupMembershipTest, AnInterruptedEmptyingIsFinished) {
  AddMirroredGroup(3);
  const GroupChange one = Change(on_a_, {}, {}, {ids_[0]});
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
  const GroupChange change = Change(on_a_, {ids_[0], ids_[1]}, {added}, {});
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
  const GroupChange change = Change(on_a_, {gone, ids_[0]}, {added}, {});
  EXPECT_OK(Do(&CheckGroupChange, on_a_, change));
  EXPECT_OK(Do(&EnableAdded, on_a_, change));
  EXPECT_EQ(StateOf(1), MirrorImageState::kEnabled);
}

}  // namespace
}  // namespace addons::testing
