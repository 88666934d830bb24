// Promote of a volume group: none before all are ready, when forcing is
// suggested, and what becomes of an interrupted call.

#include "replication/group/promote.h"

#include <atomic>
#include <cerrno>
#include <memory>

#include "replication/look/move_marks.h"
#include "replication/look/rescue_record.h"
#include "tests/fakes/local_notes.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class GroupPromoteTest : public GroupTest {
 protected:
  GroupPromoteTest() { AddMirroredGroup(3); }
  void DemoteOnA(size_t i) { a_.Demote(Image(i)); }
  void DemoteAllOnA() {
    for (size_t i = 0; i < ids_.size(); ++i) DemoteOnA(i);
  }
};

TEST_F(GroupPromoteTest, PlannedMoveKeepsTheLastWriteOfEachMember) {
  for (size_t i = 0; i < 3; ++i) ASSERT_OK(a_.Write(Image(i), 70 + i));
  DemoteAllOnA();
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(PrimariesOn(b_), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(b_.Data(Image(i)), 70 + i);
}

TEST_F(GroupPromoteTest, RepeatOfAPlannedMoveChangesNothing) {
  DemoteAllOnA();
  ASSERT_OK(PromoteAll(on_b_));
  world_.ClearCalls();
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupPromoteTest, NoneIsPromotedWhileOneIsNotDemoted) {
  DemoteOnA(0);
  DemoteOnA(1);
  deadline_ = seconds(30);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, AllOf(HasSubstr("1 waiting: '" + ids_[2]),
                                           HasSubstr("2 ready"))));
  EXPECT_EQ(PrimariesOn(b_), 0U);
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupPromoteTest, AWaitTellsItsClock) {
  DemoteOnA(0);
  world_.Advance(minutes(1));
  a_.SetClusterUp(false);
  a_.SetMirrorDaemon(DaemonState::kDown);
  deadline_ = seconds(60);
  std::string clock;
  const auto script = script_;
  script_ = [&](TestOperationContext& context) {
    script(context);
    context.OnStep([&](absl::string_view) {
      if (!context.clock_text().empty()) clock = context.clock_text();
    });
  };
  // Whole, also of the second member.
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable,
                       ContainsRegex("no sign of site 'site-a' for .* UTC if "
                                     "nothing changes\\), .* UTC if nothing "
                                     "changes\\)")));
  EXPECT_THAT(clock, HasSubstr("no sign of site 'site-a' for "))
      << "the operation's";
}

// Whether the other site is primary is told by its next report: a look later
// than the first one of the same call, which has to be remembered.
TEST_F(GroupPromoteTest, AMoveThatIsGivenUpIsTakenBackAfterTheNextReport) {
  ASSERT_OK(DemoteAll(on_a_));
  deadline_ = minutes(2);
  // The first call of a series may be answered early.
  absl::Status answer = PromoteAll(on_a_);
  if (!answer.ok()) answer = PromoteAll(on_a_);
  EXPECT_OK(answer);
  EXPECT_EQ(PrimariesOn(a_), 3U);
}

// It holds back the others of its group as well, and nobody was told of it: the
// other site would take it for one that has gone on, and be resynced from it.
TEST_F(GroupPromoteTest, AMemberGivesItsRoleBackWhereverTheOthersStand) {
  ASSERT_OK(DemoteAll(on_a_));
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return b_.Snapshots(Image(2)).back().complete; }, seconds(30)));
  world_.Advance(seconds(40));
  // A daemon begins to take the demotions back, and dies after the first one.
  NoteDemotion(a_, Image(0), {OwnDemotionStep::kTakenBack});
  a_.Promote(Image(0), Force::kNo);
  // The other site has not heard of that.
  for (size_t i = 0; i < 3; ++i) b_.Promote(Image(i), Force::kNo);
  ASSERT_EQ(PrimariesOn(b_), 3U);
  ASSERT_EQ(PrimariesOn(a_), 1U);
  deadline_ = minutes(2);
  EXPECT_THAT(
      PromoteAll(on_a_),
      StatusIs(kUnavailable, HasSubstr("this site gave the role back")));
  EXPECT_EQ(PrimariesOn(a_), 0U);
  EXPECT_EQ(PrimariesOn(b_), 3U);
}

TEST_F(GroupPromoteTest, MemberThatComesLaterIsAwaited) {
  DemoteOnA(0);
  DemoteOnA(1);
  world_.Schedule(seconds(20), [this] {
    EXPECT_EQ(PrimariesOn(b_), 0U);
    ASSERT_OK(a_.Write(Image(2), 9));
    DemoteOnA(2);
  });
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(PrimariesOn(b_), 3U);
  EXPECT_EQ(b_.Data(Image(2)), 9U);
}

TEST_F(GroupPromoteTest, HalfCopiedMemberHoldsBackTheOthers) {
  DemoteOnA(0);
  DemoteOnA(1);
  // So that no report of them says any more that they are primary.
  world_.Advance(seconds(90));
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(Image(2), 9));
  DemoteOnA(2);
  world_.Advance(seconds(4));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  deadline_ = seconds(20);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, AllOf(HasSubstr("objects copied"),
                                           HasSubstr("2 ready"))));
  EXPECT_EQ(PrimariesOn(b_), 0U);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  deadline_ = minutes(2);
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(b_.Data(Image(2)), 9U);
  EXPECT_FALSE(b_.Torn(Image(2)));
}

TEST_F(GroupPromoteTest, ReadyMemberThatIsTakenBackIsSeenBeforeTheFirstChange) {
  DemoteOnA(0);
  DemoteOnA(1);
  world_.Schedule(seconds(20), [this] {
    // The move is given up for member 0, and member 2 is demoted at last.
    a_.Promote(Image(0), Force::kNo);
    DemoteOnA(2);
  });
  // Long before the settle time of member 0, which would suggest force.
  deadline_ = seconds(60);
  EXPECT_THAT(PromoteAll(on_b_), StatusIs(kUnavailable));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

TEST_F(GroupPromoteTest, AllPeersPrimarySuggestForce) {
  deadline_ = minutes(4);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("3 refused"),
                             HasSubstr("only individually crash-consistent"))));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupPromoteTest, WorkloadOfAMemberIsToldToTheOtherSite) {
  a_.AddWatcher(Image(1), "10.1.2.3:0/77", 4464);
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
  EXPECT_EQ(PrimariesOn(a_), 3U);
  world_.Advance(seconds(10));
  deadline_ = minutes(5);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, HasSubstr("client.4464")));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

TEST_F(GroupPromoteTest, MemberWithoutReplicationIsNoReasonToForce) {
  LoseA();
  AddMember(pair_.AddVolume(b_, MemberUuid(3)));
  AddGroup(b_);
  deadline_ = minutes(4);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, HasSubstr("not enabled")));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupPromoteTest, MoreMembersThanThreadsAreRefusedInADisaster) {
  while (ids_.size() < 12) {
    ids_.push_back(pair_.AddMirroredVolume(a_, MemberUuid(ids_.size()),
                                           uint64_t{64} << 10));
  }
  AddGroup(b_);
  world_.Advance(minutes(1));
  LoseA();
  on_b_.options().group_threads = 5;
  on_b_.options().group_looking_threads = 2;
  deadline_ = minutes(4);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("12 refused")));
  EXPECT_EQ(mutations_begun_, 0);
  EXPECT_LE(took_, minutes(3));
}

TEST_F(GroupPromoteTest, FirstCallOfASeriesIsAnsweredEarly) {
  on_b_.options().first_answer = seconds(20);
  deadline_ = minutes(2);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, HasSubstr("still reports its image")));
  EXPECT_LE(took_, seconds(40));
  EXPECT_THAT(PromoteAll(on_b_), StatusIs(kUnavailable));
  EXPECT_GE(took_, seconds(110));
}

TEST_F(GroupPromoteTest, OnePeerPrimaryAndTheOthersReadySuggestForce) {
  DemoteOnA(0);
  DemoteOnA(1);
  deadline_ = minutes(6);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("1 refused"), HasSubstr("2 ready"))));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

TEST_F(GroupPromoteTest, RefusalDoesNotSuggestForceWhileAnotherMemberWaits) {
  // Member 0 stays primary on a, member 1's demotion is half copied.
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(Image(1), 9));
  DemoteOnA(1);
  world_.Advance(seconds(4));
  b_.SetMirrorDaemon(DaemonState::kFrozen);
  deadline_ = minutes(4);
  const absl::Status status = PromoteAll(on_b_);
  EXPECT_THAT(status, StatusIs(kUnavailable, HasSubstr("waiting")));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupPromoteTest, ForceRescuesAMemberThatIsInMidCopy) {
  ASSERT_OK(a_.Write(Image(1), 8));
  a_.CreateMirrorSnapshot(Image(1));
  world_.Advance(seconds(40));
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(Image(1), 9));
  a_.CreateMirrorSnapshot(Image(1));
  world_.Advance(seconds(4));
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_TRUE(b_.Torn(Image(1)));
  LoseA();
  deadline_ = minutes(4);
  on_b_.options().force_without_local_mirror = true;
  ASSERT_THAT(PromoteAll(on_b_), StatusIs(kFailedPrecondition));
  EXPECT_OK(PromoteAll(on_b_, Force::kYes));
  EXPECT_EQ(PrimariesOn(b_), 3U);
  EXPECT_FALSE(b_.Torn(Image(1)));
  EXPECT_EQ(b_.Data(Image(1)), 8U);
  EXPECT_FALSE(b_.HasImage(RescueImageName(ImageName(Image(1))).text()));
}

TEST_F(GroupPromoteTest, DeadSiteSuggestsForce) {
  LoseA();
  deadline_ = minutes(4);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("no sign of life")));
}

TEST_F(GroupPromoteTest, ForcedPromotionTakesAllMembers) {
  LoseA();
  EXPECT_OK(PromoteAll(on_b_, Force::kYes));
  EXPECT_EQ(PrimariesOn(b_), 3U);
}

TEST_F(GroupPromoteTest, ForcedPromotionLeavesOutAMemberThatNeverArrived) {
  // A fourth member, whose first copy never ended.
  b_.SetCopySpeed(0.01);
  const std::string id = pair_.AddVolume(a_, MemberUuid(3));
  ASSERT_OK(a_.Write(Image(3), 5));
  a_.EnableMirroring(Image(3));
  ASSERT_TRUE(world_.AdvanceUntil([this] { return b_.HasImage(Image(3)); },
                                  minutes(2)));
  pair_.AddJournal(b_, MemberUuid(3));
  AddMember(id);
  AddGroup(b_);
  LoseA();
  EXPECT_THAT(PromoteAll(on_b_, Force::kYes),
              StatusIs(kUnavailable, AllOf(HasSubstr("1 not available: '" + id),
                                           HasSubstr("3 primary"))));
  EXPECT_EQ(PrimariesOn(b_), 3U);
  EXPECT_FALSE(b_.Info(Image(3)).primary);
  // The retry leaves the others alone and says the same.
  world_.ClearCalls();
  EXPECT_THAT(PromoteAll(on_b_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupPromoteTest, InterruptedPromotionIsFinishedByTheRetry) {
  DemoteAllOnA();
  world_.Advance(seconds(40));
  const auto left = std::make_shared<std::atomic<int>>(1);
  world_.SetCallHook([left](absl::string_view, absl::string_view made, bool) {
    if (made != "rbd_mirror_image_promote") return 0;
    if ((*left)-- > 0) return 0;
    throw FakeCrash();
  });
  EXPECT_THROW(static_cast<void>(PromoteAll(on_b_)), FakeCrash);
  world_.SetCallHook(nullptr);
  EXPECT_EQ(PrimariesOn(b_), 1U);
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(PrimariesOn(b_), 3U);
}

TEST_F(GroupPromoteTest, FailureInTheMiddleIsNamedAndNeverSuggestsForce) {
  DemoteAllOnA();
  world_.Advance(seconds(40));
  const auto calls = std::make_shared<std::atomic<int>>(0);
  world_.SetCallHook([calls](absl::string_view, absl::string_view made, bool) {
    return made == "rbd_mirror_image_promote" && ++*calls == 2 ? EIO : 0;
  });
  const absl::Status status = PromoteAll(on_b_);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.code(), kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("2 primary"));
  world_.SetCallHook(nullptr);
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(PrimariesOn(b_), 3U);
}

TEST_F(GroupPromoteTest, DeletedMemberIsNamedAndNoneIsPromoted) {
  DemoteAllOnA();
  world_.Advance(seconds(40));
  AddMember(pair_.VolumeId(a_, MemberUuid(7)));
  AddGroup(b_);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, AllOf(HasSubstr("1 not found"),
                                           HasSubstr(MemberUuid(7)))));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

TEST_F(GroupPromoteTest, SupersededWhileItWaits) {
  script_ = [this](TestOperationContext& context) {
    context.SetClock(clock_);
    context.SupersedeAfter(seconds(5));
  };
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("superseded")));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(GroupPromoteTest, ScheduleIsSetForEachMember) {
  EXPECT_OK(PromoteAll(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  world_.ClearCalls();
  EXPECT_OK(PromoteAll(on_a_, Force::kNo, {{"schedulingInterval", "5m"}}));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupPromoteTest, VolumeUnderTheIdsOfBothSitesIsOneMember) {
  AddMember(pair_.VolumeId(b_, MemberUuid(0)));
  AddGroup(b_);
  EXPECT_EQ(Group(on_b_).members.size(), 3U);
}

TEST_F(GroupTest, PromoteOfAGroupWithoutMembersIsNoSuccess) {
  AddGroup(b_);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, HasSubstr("lists no members")));
}

}  // namespace
}  // namespace addons::testing
