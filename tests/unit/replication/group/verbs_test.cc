// Enable, disable, demote, resync, info and destination of a volume group.

#include <atomic>
#include <cerrno>
#include <memory>

#include "ceph/mirror.h"
#include "replication/look/move_marks.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// --- enable

TEST_F(GroupTest, EnableEnablesAllMembers) {
  AddPlainGroup(3);
  EXPECT_OK(EnableAll(on_a_));
  EXPECT_EQ(MirroredOn(a_), 3U);
  world_.ClearCalls();
  EXPECT_OK(EnableAll(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupTest, EnableEnablesNoneWhenOneCannotBe) {
  AddPlainGroup(2);
  a_.EnableMirroring(Image(1), MirrorMode::kSnapshot);
  AddMember(pair_.VolumeId(a_, MemberUuid(7)));  // deleted
  AddGroup(a_);
  EXPECT_THAT(EnableAll(on_a_),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("1 not found"), HasSubstr("1 ready"),
                             HasSubstr("1 replicated"))));
  EXPECT_NE(a_.Info(Image(0)).state, MirrorImageState::kEnabled);
}

TEST_F(GroupTest, EnableEnablesNoneWhileOneIsAClone) {
  AddPlainGroup(1);
  a_.AddImage(MirroredPair::kPool, "", "golden");
  a_.AddClone("golden", Image(1));
  pair_.AddJournal(a_, MemberUuid(1));
  AddMember(pair_.VolumeId(a_, MemberUuid(1)));
  AddGroup(a_);
  EXPECT_THAT(EnableAll(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr(ids_[1]), HasSubstr("flattenMode"))));
  EXPECT_EQ(MirroredOn(a_), 0U);
  EXPECT_OK(EnableAll(on_a_, {{"flattenMode", "force"}}));
  EXPECT_EQ(MirroredOn(a_), 2U);
}

TEST_F(GroupTest, EnableInAnotherModeNamesTheMember) {
  AddPlainGroup(2);
  a_.EnableMirroring(Image(1), MirrorMode::kJournal);
  EXPECT_THAT(EnableAll(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr(ids_[1])));
  EXPECT_EQ(mutations_begun_, 0);
}

// A schedule that nobody needs any more is removed by a verb that ends well:
// what refuses changes nothing, so that no member is.
TEST_F(GroupTest, AMemberInAnotherModeIsNoReasonToSweepSchedules) {
  AddPlainGroup(2);
  a_.EnableMirroring(Image(1), MirrorMode::kJournal);
  a_.AddOmapValue(MirroredPair::kPool, "", "rbd_mirror_snapshot_schedule",
                  absl::StrCat(pair_.pool_id(a_), "//1031a976f30a"), "[]");
  EXPECT_THAT(EnableAll(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr(ids_[1])));
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_EQ(a_.Info(Image(0)).state, MirrorImageState::kDisabled);
}

TEST_F(GroupTest, EnableOfAGroupWithoutMembersIsRefused) {
  AddGroup(a_);
  EXPECT_THAT(EnableAll(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("no members")));
}

TEST(CheckGroupReplicationTest, WantsTheClassToAgree) {
  const ReplicationOptions options;
  EXPECT_OK(CheckGroupReplication(options, {{"groupReplication", "members"}}));
  EXPECT_THAT(CheckGroupReplication(options, {}),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("groupReplication: \"members\""),
                             HasSubstr("--group-replication=members"))));
  EXPECT_THAT(
      CheckGroupReplication(options, {{"groupReplication", "native"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'native'")));
}

TEST(CheckGroupReplicationTest, TheDaemonAgreesForClassesThatDoNotSay) {
  ReplicationOptions options;
  options.group_members_by_default = true;
  EXPECT_OK(CheckGroupReplication(options, {}));
  EXPECT_THAT(
      CheckGroupReplication(options, {{"groupReplication", "native"}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'native'")));
}

// --- demote

TEST_F(GroupTest, DemoteDemotesAllMembers) {
  AddMirroredGroup(3);
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_EQ(PrimariesOn(a_), 0U);
  world_.ClearCalls();
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupTest, DemoteDemotesNoneWhileOneIsInUse) {
  AddMirroredGroup(3);
  a_.AddWatcher(Image(1), "10.1.2.3:0/77", 4464);
  EXPECT_THAT(DemoteAll(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr(ids_[1]), HasSubstr("10.1.2.3"),
                             HasSubstr("2 ready"))));
  EXPECT_EQ(PrimariesOn(a_), 3U);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
}

// The members' notes tell that they were refused before.
TEST_F(GroupTest, TheEndOfTheLastWorkloadIsNoticedWithinTwoSeconds) {
  AddMirroredGroup(3);
  world_.AdvanceToSecond(30);
  a_.AddWatcher(Image(0), "10.1.2.3:0/77", 4464);
  a_.AddWatcher(Image(1), "10.1.2.3:0/77", 4465);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
  world_.Schedule(seconds(10), [this] { a_.RemoveWatcher(Image(0), 4464); });
  world_.Schedule(seconds(30), [this] { a_.RemoveWatcher(Image(1), 4465); });
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_LE(took_, seconds(33));
  EXPECT_EQ(held_worker_, SteadyDuration::zero());
  EXPECT_EQ(PrimariesOn(a_), 0U);
}

// Its refusal must be told, and is told with the answer.
TEST_F(GroupTest, AMemberThatIsInUseAnewIsNotWaitedForBesideAnother) {
  AddMirroredGroup(2);
  world_.AdvanceToSecond(25);
  a_.AddWatcher(Image(0), "10.1.2.3:0/77", 4464);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
  a_.AddWatcher(Image(1), "10.1.2.3:0/77", 4465);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_LE(took_, seconds(7));
  EXPECT_EQ(a_.ImageMetadata(Image(1)).count(kRefusedDemotionKey), 1U);
}

TEST_F(GroupTest, MembersThatNobodyFollowsTellTheOtherSite) {
  AddMirroredGroup(2);
  ASSERT_OK(DemoteAll(on_a_));
  a_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(PromoteAll(on_b_));
  EXPECT_THAT(DemoteAll(on_b_), StatusIs(kUnavailable));
  for (const size_t member : {0U, 1U}) {
    EXPECT_EQ(b_.ImageMetadata(Image(member)).count(kRefusedDemotionKey), 1U);
  }
}

TEST_F(GroupTest, DemoteDemotesNoneWhileOneIsAMirroredClone) {
  // As ceph-csi makes it: parent and clone are mirrored.
  a_.AddImage(MirroredPair::kPool, "", "golden");
  a_.AddClone("golden", Image(1));
  a_.EnableMirroring("golden");
  a_.EnableMirroring(Image(1));
  pair_.AddJournal(a_, MemberUuid(1));
  ASSERT_TRUE(world_.AdvanceUntil(
      [this] { return b_.HasImage(Image(1)) && pair_.InSync(b_, Image(1)); },
      minutes(3)));
  pair_.AddJournal(b_, MemberUuid(1));
  AddMember(pair_.VolumeId(a_, MemberUuid(1)));
  AddMirroredGroup(1);
  EXPECT_THAT(DemoteAll(on_a_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr(ids_[0]), HasSubstr("rbd flatten"))));
  EXPECT_EQ(PrimariesOn(a_), 2U);
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupTest, MemberOnAnotherClusterThanItsGroupIsLeftAlone) {
  AddMirroredGroup(2);
  GroupTarget group = Group(on_a_);
  EXPECT_EQ(group.Member(0).fsid, a_.fsid());
  // Where the journal was read.
  group.place.cluster = pair_.cluster(b_);
  world_.ClearCalls();
  EXPECT_THAT(
      Run([&](OperationContext& context) {
        return DemoteGroup(context, on_a_.environment(), group);
      }),
      StatusIs(kUnavailable, HasSubstr("is not the one that is meant")));
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(PrimariesOn(a_), 2U);
}

TEST_F(GroupTest, DemoteWaitsUntilEachMemberIsFollowed) {
  AddMirroredGroup(2);
  ASSERT_OK(DemoteAll(on_a_));
  deadline_ = minutes(3);
  ASSERT_OK(PromoteAll(on_b_));
  // rbd-mirror of a has not noticed yet.
  EXPECT_OK(DemoteAll(on_b_));
  EXPECT_EQ(PrimariesOn(b_), 0U);
  ASSERT_OK(PromoteAll(on_a_));
  EXPECT_EQ(PrimariesOn(a_), 2U);
}

TEST_F(GroupTest, InterruptedDemoteIsFinishedByTheRetry) {
  AddMirroredGroup(3);
  const auto left = std::make_shared<std::atomic<int>>(1);
  world_.SetCallHook([left](absl::string_view, absl::string_view made, bool) {
    if (made != "rbd_mirror_image_demote") return 0;
    if ((*left)-- > 0) return 0;
    throw FakeCrash();
  });
  EXPECT_THROW(static_cast<void>(DemoteAll(on_a_)), FakeCrash);
  world_.SetCallHook(nullptr);
  EXPECT_EQ(PrimariesOn(a_), 2U);
  world_.Advance(minutes(1));  // the watches of the dead process are gone
  EXPECT_OK(DemoteAll(on_a_));
  EXPECT_EQ(PrimariesOn(a_), 0U);
}

TEST_F(GroupTest, DemoteOfAGroupWithoutMembersIsDone) {
  AddGroup(a_);
  EXPECT_OK(DemoteAll(on_a_));
}

// --- disable

TEST_F(GroupTest, DisableDisablesAllMembers) {
  AddMirroredGroup(3);
  EXPECT_OK(DisableAll(on_a_));
  EXPECT_EQ(MirroredOn(a_), 0U);
  EXPECT_OK(DisableAll(on_a_));
}

TEST_F(GroupTest, DisableIsNotHeldUpByAMemberThatIsGone) {
  AddMirroredGroup(2);
  AddMember(pair_.VolumeId(a_, MemberUuid(7)));
  AddMember("no volume id");
  AddGroup(a_);
  EXPECT_OK(DisableAll(on_a_));
  EXPECT_EQ(a_.Info(Image(0)).state, MirrorImageState::kDisabled);
  EXPECT_EQ(a_.Info(Image(1)).state, MirrorImageState::kDisabled);
}

TEST_F(GroupTest, DisableDoesNotForgetAMemberOfAnUnknownCluster) {
  AddMirroredGroup(1);
  AddMember("0001-0009-elsewhere-0000000000000002-" + MemberUuid(7));
  AddGroup(a_);
  EXPECT_THAT(DisableAll(on_a_),
              StatusIs(kUnavailable, HasSubstr("elsewhere")));
  EXPECT_EQ(a_.Info(Image(0)).state, MirrorImageState::kEnabled);
}

TEST_F(GroupTest, DisableDoesNotForgetAMemberOfAnotherVersion) {
  AddMirroredGroup(1);
  std::string other = pair_.VolumeId(a_, MemberUuid(7));
  other[3] = '2';
  AddMember(other);
  AddGroup(a_);
  EXPECT_FALSE(DisableAll(on_a_).ok());
  EXPECT_EQ(a_.Info(Image(0)).state, MirrorImageState::kEnabled);
}

TEST_F(GroupTest, DisableOnTheSecondarySiteDoesNothing) {
  AddMirroredGroup(2);
  world_.ClearCalls();
  EXPECT_OK(DisableAll(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

// --- resync

TEST_F(GroupTest, ResyncIsReadyWhenAllMembersAre) {
  AddMirroredGroup(3);
  const auto result = ResyncAll(on_b_);
  ASSERT_OK(result);
  EXPECT_TRUE(result->ready) << result->message;
  EXPECT_THAT(result->message, HasSubstr("3 of 3"));
}

TEST_F(GroupTest, ResyncIsRequestedForTheMemberThatNeedsItAlone) {
  AddMirroredGroup(3);
  b_.ForceSplitBrain(Image(1));
  world_.Advance(minutes(1));
  world_.ClearCalls();
  EXPECT_THAT(ResyncAll(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("split brain"), HasSubstr(ids_[1]))));
  EXPECT_EQ(world_.CountMutations(), 0);

  const auto forced = ResyncAll(on_b_, Force::kYes);
  ASSERT_OK(forced);
  EXPECT_FALSE(forced->ready);
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_resync"), 1);
  ASSERT_OK(ResyncAll(on_b_, Force::kYes));
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_resync"), 1);
}

TEST_F(GroupTest, ResyncDeletesNothingWhileOneMemberHasNoSource) {
  AddMirroredGroup(2);
  b_.ForceSplitBrain(Image(0));
  b_.ForceSplitBrain(Image(1));
  world_.Advance(minutes(1));
  a_.Demote(Image(1));
  world_.Advance(minutes(1));
  world_.ClearCalls();
  EXPECT_FALSE(ResyncAll(on_b_, Force::kYes).ok());
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_resync"), 0);
}

TEST_F(GroupTest, ResyncOfAPrimaryGroupIsRefused) {
  AddMirroredGroup(2);
  EXPECT_THAT(ResyncAll(on_a_, Force::kYes).status(),
              StatusIs(kFailedPrecondition, HasSubstr("2 refused")));
}

TEST_F(GroupTest, ResyncOfAGroupWithoutMembersHasNotBegun) {
  AddGroup(b_);
  EXPECT_THAT(ResyncAll(on_b_), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("lists no members")));
}

// --- info

TEST_F(GroupTest, InfoIsHealthyWithTheOldestNumbers) {
  AddMirroredGroup(3);
  SchedulePool(a_);
  world_.Advance(minutes(1));
  a_.CreateMirrorSnapshot(Image(0));
  a_.CreateMirrorSnapshot(Image(2));
  world_.Advance(minutes(2));
  id_ = ids_[1];
  const auto oldest = Info(on_a_);
  id_ = ids_[0];
  const auto newer = Info(on_a_);
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(oldest);
  ASSERT_OK(newer);
  ASSERT_OK(group);
  EXPECT_LT(*oldest->last_sync_time, *newer->last_sync_time);
  EXPECT_EQ(group->last_sync_time, oldest->last_sync_time);
  EXPECT_EQ(group->health, ReplicationHealth::kHealthy);
  EXPECT_THAT(group->message, HasSubstr("3 healthy"));
}

TEST_F(GroupTest, InfoHasTheWorstHealthAndTheOldestNumbersThatAreKnown) {
  AddMirroredGroup(2);
  SchedulePool(a_);
  world_.Advance(minutes(1));
  a_.CreateMirrorSnapshot(Image(0));
  world_.Advance(minutes(2));
  AddMember(pair_.AddVolume(a_, MemberUuid(2)));  // not replicated
  AddGroup(a_);
  id_ = ids_[1];
  const auto oldest = Info(on_a_);
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(oldest);
  ASSERT_OK(group);
  EXPECT_EQ(group->health, ReplicationHealth::kError);
  ASSERT_TRUE(group->last_sync_time.has_value());
  EXPECT_EQ(group->last_sync_time, oldest->last_sync_time);
  EXPECT_EQ(group->last_sync_bytes, oldest->last_sync_bytes);
  EXPECT_THAT(
      group->message,
      AllOf(HasSubstr("1 in error: '" + ids_[2]), HasSubstr("2 healthy"),
            HasSubstr("the numbers are those of '" + ids_[1]),
            HasSubstr("1 without numbers: '" + ids_[2] + "'")));
}

TEST_F(GroupTest, InfoIsAskedForAgainSoonWhileThatOfOneMemberIs) {
  AddMirroredGroup(3);
  SchedulePool(a_);
  world_.Advance(minutes(1));
  ASSERT_OK(InfoOfAll(on_a_));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  world_.Advance(seconds(2));
  a_.Demote(Image(1));
  world_.Advance(seconds(2));
  a_.Promote(Image(1), Force::kNo);
  EXPECT_THAT(InfoOfAll(on_a_),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("1 of 3 members"), HasSubstr(ids_[1]),
                             HasSubstr("has not reported since"))));
  // What is wrong already is told at once.
  a_.RemoveImage(Image(2));
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(group);
  EXPECT_EQ(group->health, ReplicationHealth::kError);
}

TEST_F(GroupTest, InfoNamesADeletedMember) {
  AddMirroredGroup(1);
  AddMember(pair_.VolumeId(a_, MemberUuid(7)));
  AddGroup(a_);
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(group);
  EXPECT_EQ(group->health, ReplicationHealth::kDegraded);
  EXPECT_THAT(group->message, HasSubstr(MemberUuid(7)));
}

TEST_F(GroupTest, InfoWhileReplicationOfAllMembersIsOff) {
  AddPlainGroup(2);
  EXPECT_THAT(InfoOfAll(on_a_), StatusIs(kFailedPrecondition));
}

TEST_F(GroupTest, InfoAsksTheManagerOnceForAllMembers) {
  AddMirroredGroup(5);
  ASSERT_OK(PromoteAll(on_a_, Force::kNo, {{"schedulingInterval", "1h"}}));
  world_.Advance(minutes(1));
  world_.ClearCalls();
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(group);
  EXPECT_EQ(group->health, ReplicationHealth::kHealthy) << group->message;
  EXPECT_EQ(world_.CountCalls("a", "rados_mgr_command"), 1);
}

TEST_F(GroupTest, InfoOfAGroupWithoutMembersIsDegraded) {
  AddGroup(a_);
  const auto group = InfoOfAll(on_a_);
  ASSERT_OK(group);
  EXPECT_EQ(group->health, ReplicationHealth::kDegraded);
}

// --- destination

class GroupDestinationTest : public GroupTest {
 protected:
  absl::StatusOr<GroupDestination> Find(Daemon& daemon) {
    DestinationFinder finder(daemon.environment());
    return FindGroupDestination(daemon.environment(), finder,
                                GroupHandle(GroupId()), daemon.site().user(),
                                RealClock().Now() + minutes(1));
  }
};

TEST_F(GroupDestinationTest, MapsTheGroupAndEachMember) {
  AddMirroredGroup(2);
  const auto found = Find(on_a_);
  ASSERT_OK(found);
  EXPECT_EQ(found->group_id, pair_.VolumeId(b_, kGroupUuid));
  EXPECT_THAT(found->volume_ids,
              ::testing::ElementsAre(
                  ::testing::Pair(ids_[0], pair_.VolumeId(b_, MemberUuid(0))),
                  ::testing::Pair(ids_[1], pair_.VolumeId(b_, MemberUuid(1)))));
}

TEST_F(GroupDestinationTest, IsNeverIncomplete) {
  AddMirroredGroup(2);
  AddMember(pair_.VolumeId(a_, MemberUuid(7)));
  AddGroup(a_);
  EXPECT_THAT(Find(on_a_), StatusIs(kUnavailable, HasSubstr(MemberUuid(7))));
}

TEST_F(GroupDestinationTest, GroupThatIsNotKnownYetIsUnavailable) {
  EXPECT_THAT(Find(on_b_),
              StatusIs(kUnavailable, HasSubstr("CreateVolumeGroup")));
}

}  // namespace
}  // namespace addons::testing
