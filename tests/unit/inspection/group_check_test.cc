// What check-failover and explain say of a volume group is what the real call
// answers.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "inspection/explain_group.h"
#include "inspection/failover_check.h"
#include "inspection/group_forecast.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;

class GroupCheckTest : public GroupTest {
 protected:
  FailoverFindings CheckGroups(Daemon& daemon,
                               const std::vector<std::string>& ids) {
    std::vector<GroupHandle> groups;
    for (const std::string& id : ids) groups.emplace_back(id);
    absl::StatusOr<FailoverFindings> found = absl::UnknownError("not called");
    world_.ClearCalls();
    (void)Run([&](OperationContext& context) {
      found = CheckFailoverOfGroups(context, daemon.environment(), groups,
                                    daemon.site().user(), std::nullopt);
      return found.status();
    });
    EXPECT_OK(found);
    EXPECT_EQ(world_.CountMutations(), 0);
    return found.ok() ? *std::move(found) : FailoverFindings();
  }
  GroupForecast Check(Daemon& daemon) {
    const FailoverFindings found = CheckGroups(daemon, {GroupId()});
    EXPECT_THAT(found.volumes, SizeIs(ids_.size()));
    EXPECT_THAT(found.volumes,
                Each(Field(&FailoverFinding::group_id, GroupId())));
    EXPECT_THAT(found.groups, SizeIs(1));
    return found.groups.empty() ? GroupForecast() : found.groups.front();
  }
  void DemoteAllOnA() {
    for (size_t i = 0; i < ids_.size(); ++i) a_.Demote(Image(i));
    world_.Advance(minutes(1));
  }
};

TEST_F(GroupCheckTest, AllMembersReadyWorksPlanned) {
  AddMirroredGroup(3);
  DemoteAllOnA();
  const GroupForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.members, 3U);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kWorks);
  EXPECT_EQ(forecast.planned.code, absl::StatusCode::kOk);
  EXPECT_EQ(forecast.planned.reason, "3 ready");
  EXPECT_EQ(forecast.lost_bytes, 0U);
  EXPECT_OK(PromoteAll(on_b_));
  EXPECT_EQ(Check(on_b_).planned.reason, "3 primary");
}

TEST_F(GroupCheckTest, OneMemberThatIsPrimaryElsewhereHoldsUpTheGroup) {
  AddMirroredGroup(3);
  a_.Demote(Image(0));
  a_.Demote(Image(2));
  world_.Advance(minutes(1));
  const GroupForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kWaits);
  EXPECT_EQ(forecast.planned.code, kUnavailable);
  EXPECT_THAT(forecast.planned.reason,
              AllOf(HasSubstr("1 waiting: '" + ids_[1]), HasSubstr("2 ready")));
  EXPECT_EQ(forecast.forced.verdict, Verdict::kWorks);
  // Of what the living primary has written since nobody knows here.
  EXPECT_EQ(forecast.lost_bytes, std::nullopt);
  deadline_ = seconds(30);
  EXPECT_THAT(PromoteAll(on_b_), StatusIs(kUnavailable));
}

TEST_F(GroupCheckTest, ADeadSiteIsRefusedPlannedAndWorksByForce) {
  AddMirroredGroup(3);
  LoseA();
  deadline_ = minutes(4);
  ASSERT_THAT(PromoteAll(on_b_), StatusIs(kFailedPrecondition));
  const GroupForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kRefuses);
  EXPECT_EQ(forecast.planned.code, kFailedPrecondition);
  EXPECT_THAT(forecast.planned.reason, HasSubstr("3 refused"));
  EXPECT_EQ(forecast.forced.verdict, Verdict::kWorks);
  EXPECT_OK(PromoteAll(on_b_, Force::kYes));
}

// A volume of its own would be refused, which makes operators force.
TEST_F(GroupCheckTest, AMemberWithoutReplicationIsNoReasonToForce) {
  AddMirroredGroup(2);
  DemoteAllOnA();
  AddMember(pair_.AddVolume(b_, MemberUuid(2)));
  AddGroup(b_);
  const GroupForecast forecast = Check(on_b_);
  EXPECT_NE(forecast.planned.verdict, Verdict::kWorks);
  EXPECT_EQ(forecast.planned.code, kUnavailable);
  EXPECT_THAT(forecast.planned.reason,
              AllOf(HasSubstr("not enabled"), HasSubstr("2 ready")));
  deadline_ = seconds(30);
  EXPECT_THAT(PromoteAll(on_b_),
              StatusIs(kUnavailable, HasSubstr("not enabled")));
}

TEST_F(GroupCheckTest, ForcingPromotesWhatItCanAndThenRefusesNothing) {
  AddMirroredGroup(3);
  LoseA();
  b_.RemoveImage(Image(1));
  const GroupForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.forced.verdict, Verdict::kRefuses);
  EXPECT_THAT(forecast.forced.reason,
              AllOf(HasSubstr("1 not found"), HasSubstr("2 ready")));
  deadline_ = minutes(4);
  const absl::Status forced = PromoteAll(on_b_, Force::kYes);
  EXPECT_EQ(forced.code(), forecast.forced.code) << forced;
  EXPECT_EQ(PrimariesOn(b_), 2U);
}

TEST_F(GroupCheckTest, WhatCannotBeReadIsUnclear) {
  AddMirroredGroup(2);
  DemoteAllOnA();
  Fail("rbd_mirror_image_get_info", EACCES, 1);
  const GroupForecast forecast = Check(on_b_);
  EXPECT_EQ(forecast.planned.verdict, Verdict::kUnclear);
  EXPECT_EQ(forecast.planned.code, absl::StatusCode::kPermissionDenied);
}

TEST_F(GroupCheckTest, AGroupThatIsNotThereLeavesTheOthers) {
  AddMirroredGroup(2);
  DemoteAllOnA();
  const std::string stranger =
      pair_.VolumeId(a_, "b891b493-7754-470d-b2a0-4ca18f698b29");
  const FailoverFindings found = CheckGroups(on_b_, {stranger, GroupId()});
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_EQ(found.groups[0].group_id, stranger);
  EXPECT_EQ(found.groups[0].planned.verdict, Verdict::kRefuses);
  EXPECT_EQ(found.groups[0].planned.code, absl::StatusCode::kNotFound);
  EXPECT_EQ(found.groups[1].planned.verdict, Verdict::kWorks);
  EXPECT_THAT(found.volumes, SizeIs(2));
}

TEST_F(GroupCheckTest, AGroupWithoutMembersWaitsForThem) {
  AddGroup(b_);
  const FailoverFindings found = CheckGroups(on_b_, {GroupId()});
  EXPECT_THAT(found.volumes, IsEmpty());
  ASSERT_THAT(found.groups, SizeIs(1));
  EXPECT_EQ(found.groups[0].forced.verdict, Verdict::kWaits);
  const absl::Status answer = PromoteAll(on_b_, Force::kYes);
  EXPECT_EQ(answer.code(), found.groups[0].forced.code);
  EXPECT_EQ(answer.message(), found.groups[0].forced.reason);
}

// --- explained

class GroupExplainTest : public GroupCheckTest {
 protected:
  Forecast Explained(Daemon& daemon, const std::string& verb,
                     Force force = Force::kNo) {
    absl::StatusOr<GroupExplanation> found = absl::UnknownError("not called");
    world_.ClearCalls();
    (void)Run([&](OperationContext& context) {
      found =
          ExplainGroup(context, daemon.environment(), GroupHandle(GroupId()),
                       daemon.site().user(), std::nullopt);
      return found.status();
    });
    EXPECT_OK(found);
    EXPECT_EQ(world_.CountMutations(), 0);
    if (!found.ok()) return {};
    EXPECT_THAT(found->members, SizeIs(ids_.size()));
    EXPECT_THAT(found->group.unseen, IsEmpty());
    for (const VerbForecast& forecast : found->group.forecasts) {
      if (forecast.verb == verb && forecast.force == force) {
        return forecast.forecast;
      }
    }
    ADD_FAILURE() << "no forecast of " << verb;
    return {};
  }
};

TEST_F(GroupExplainTest, DemoteIsAllOrNone) {
  AddMirroredGroup(3);
  a_.AddWatcher(Image(1), "10.1.2.3:0/77", 4464);
  const Forecast forecast = Explained(on_a_, "demote");
  EXPECT_EQ(forecast.verdict, Verdict::kRefuses);
  EXPECT_EQ(forecast.code, kFailedPrecondition);
  EXPECT_THAT(forecast.reason,
              AllOf(HasSubstr("1 refused: '" + ids_[1]), HasSubstr("2 ready"),
                    HasSubstr("10.1.2.3")));
  EXPECT_THAT(DemoteAll(on_a_), StatusIs(kFailedPrecondition));
}

TEST_F(GroupExplainTest, DemoteOfAnUnusedGroupWorks) {
  AddMirroredGroup(2);
  EXPECT_EQ(Explained(on_a_, "demote").reason, "2 ready");
  EXPECT_OK(DemoteAll(on_a_));
}

TEST_F(GroupExplainTest, DisableIsWhatTheCallAnswers) {
  AddMirroredGroup(2);
  // Nothing is done on the secondary side.
  const Forecast on_b = Explained(on_b_, "disable");
  EXPECT_EQ(on_b.verdict, Verdict::kWorks) << on_b.reason;
  EXPECT_OK(DisableAll(on_b_));
  a_.SetClusterUp(false);
  world_.Advance(std::chrono::minutes(3));
  const Forecast dead = Explained(on_b_, "disable");
  EXPECT_EQ(dead.verdict, Verdict::kRefuses);
  EXPECT_THAT(dead.reason, HasSubstr("no sign of life"));
  EXPECT_THAT(DisableAll(on_b_), StatusIs(dead.code));
  EXPECT_EQ(Explained(on_b_, "disable", Force::kYes).verdict, Verdict::kWorks);
}

TEST_F(GroupExplainTest, AMemberThatIsGoneIsDisabled) {
  AddMirroredGroup(2);
  a_.RemoveImage(Image(1));
  const Forecast forecast = Explained(on_a_, "disable");
  EXPECT_EQ(forecast.verdict, Verdict::kWorks) << forecast.reason;
  EXPECT_EQ(Explained(on_a_, "demote").verdict, Verdict::kRefuses);
  EXPECT_OK(DisableAll(on_a_));
}

TEST_F(GroupExplainTest, ResyncIsWhatTheCallAnswers) {
  AddMirroredGroup(2);
  const Forecast on_b = Explained(on_b_, "resync");
  const auto ready = ResyncAll(on_b_);
  ASSERT_OK(ready);
  EXPECT_EQ(on_b.code, absl::StatusCode::kOk);
  EXPECT_EQ(on_b.verdict, ready->ready ? Verdict::kWorks : Verdict::kWaits);
  const Forecast on_a = Explained(on_a_, "resync");
  EXPECT_EQ(on_a.verdict, Verdict::kRefuses);
  EXPECT_THAT(ResyncAll(on_a_), StatusIs(on_a.code));
}

TEST_F(GroupExplainTest, ResyncThatIsUnderWayWaits) {
  AddMirroredGroup(2);
  b_.ForceSplitBrain(Image(0));
  world_.Advance(minutes(1));
  const Forecast planned = Explained(on_b_, "resync");
  EXPECT_THAT(ResyncAll(on_b_), StatusIs(planned.code));
  EXPECT_EQ(Explained(on_b_, "resync", Force::kYes).verdict, Verdict::kWorks);
  const auto begun = ResyncAll(on_b_, Force::kYes);
  ASSERT_OK(begun);
  EXPECT_FALSE(begun->ready);
  const Forecast waiting = Explained(on_b_, "resync");
  EXPECT_EQ(waiting.verdict, Verdict::kWaits);
  EXPECT_EQ(waiting.code, absl::StatusCode::kOk);
}

TEST_F(GroupExplainTest, AGroupWithoutMembersHasNothingToDemote) {
  AddGroup(a_);
  EXPECT_EQ(Explained(on_a_, "demote").verdict, Verdict::kWorks);
  EXPECT_OK(DemoteAll(on_a_));
  const Forecast resync = Explained(on_a_, "resync");
  EXPECT_EQ(resync.verdict, Verdict::kWaits);
  EXPECT_THAT(ResyncAll(on_a_), StatusIs(resync.code, resync.reason));
}

}  // namespace
}  // namespace addons::testing
