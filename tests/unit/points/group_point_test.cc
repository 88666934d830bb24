// Points of a group, all of one instant.

#include "points/group_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "points/make_point.h"
#include "points/prove.h"
#include "replication/group/point_name.h"
#include "replication/look/point.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/replication/group/group_fixture.h"

namespace addons {
namespace {

using ::addons::testing::Daemon;
using ::addons::testing::GroupTest;
using ::addons::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(GroupPointNameTest, TellsHowManyMembersItIsOf) {
  const auto name = ParseGroupPointName("a-of-2-night-of-3-5f03a1b2");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->base, "a-of-2-night");
  EXPECT_EQ(name->members, 3);
  EXPECT_EQ(name->text(), "a-of-2-night-of-3-5f03a1b2");
}

TEST(GroupPointNameTest, OthersAreNone) {
  for (const char* const name :
       {"night", "night-of-3", "night-of-3-5f03a1b", "night-of-03-5f03a1b2",
        "night-of-x-5f03a1b2", "-of-3-5f03a1b2", "night-of-3-5F03A1B2",
        "auto-20260131T120107Z-5f03a1"}) {
    EXPECT_FALSE(ParseGroupPointName(name).has_value()) << name;
  }
}

class GroupPointTest : public GroupTest {
 protected:
  void SetUp() override {
    a_.SetTransientLocks(true);
    AddMirroredGroup(3);
    for (size_t i = 0; i < 3; ++i) ASSERT_OK(a_.Write(Image(i), 7 + i));
    SyncAll();
  }
  void SyncAll() {
    for (size_t i = 0; i < ids_.size(); ++i) a_.CreateMirrorSnapshot(Image(i));
    world_.Advance(std::chrono::minutes(2));
    world_.AdvanceToSecond(30);
  }
  absl::StatusOr<std::string> Make(Daemon& daemon, const std::string& base) {
    absl::StatusOr<std::string> name = absl::UnknownError("not called");
    const GroupTarget group = Group(daemon);
    const absl::Status status = Run([&](OperationContext& context) {
      name = MakeGroupPoint(context, daemon.environment(), group, base);
      return name.status();
    });
    if (!status.ok()) return status;
    return name;
  }
  std::vector<std::string> Listed(Daemon& daemon) {
    std::vector<std::string> names;
    const GroupTarget group = Group(daemon);
    EXPECT_OK(Run([&](OperationContext& context) {
      const auto listed =
          LookAtGroupPoints(context, daemon.environment(), group);
      for (const SharedPoint& point : listed.value()) {
        names.push_back(point.name);
      }
      return listed.status();
    }));
    return names;
  }
  /// The points of one member, on either site.
  std::vector<std::string> Of(FakeSite& site, size_t i) {
    std::vector<std::string> names;
    for (const Point& point : PointsIn(site.OtherSnapshots(Image(i)))) {
      names.push_back(point.name);
    }
    return names;
  }
};

TEST_F(GroupPointTest, EachMemberHasOneOfTheSameName) {
  const auto made = Make(on_a_, "night");
  ASSERT_OK(made);
  EXPECT_THAT(*made, StartsWith("night-of-3-"));
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(Of(a_, i), ElementsAre(*made));
  EXPECT_THAT(Listed(on_a_), ElementsAre(*made));
  world_.Advance(std::chrono::minutes(2));
  EXPECT_THAT(Listed(on_b_), ElementsAre(*made));
}

TEST_F(GroupPointTest, TheyAreMadeAtOneInstantAndFarFromTheManagersMoments) {
  on_a_.options().group_members_at_once = 3;
  world_.AdvanceToSecond(52);
  std::vector<std::string> calls;
  std::vector<int64_t> seconds;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    if (call == "rbd_lock_acquire" || call == "rbd_snap_create2" ||
        call == "rbd_lock_release" ||
        call == "rbd_mirror_image_create_snapshot2") {
      calls.emplace_back(call);
      // Whether librbd has such a lock is asked at any time.
      if (call == "rbd_lock_acquire" && seconds.empty()) return 0;
      seconds.push_back(std::chrono::system_clock::to_time_t(world_.WallNow()) %
                        60);
    }
    return 0;
  });
  ASSERT_OK(Make(on_a_, "night"));
  world_.SetCallHook(nullptr);
  // Without the questions whether librbd has such a lock.
  const auto locked =
      std::find(calls.rbegin(), calls.rend(), "rbd_lock_acquire").base();
  EXPECT_THAT(
      std::vector<std::string>(locked - 3, locked + 6),
      ElementsAre("rbd_lock_acquire", "rbd_lock_acquire", "rbd_lock_acquire",
                  "rbd_snap_create2", "rbd_snap_create2", "rbd_snap_create2",
                  "rbd_lock_release", "rbd_lock_release", "rbd_lock_release"));
  EXPECT_EQ(std::count(calls.begin(), locked - 3,
                       "rbd_mirror_image_create_snapshot2"),
            6)
      << "two of each member seal what is whole";
  EXPECT_EQ(
      std::count(locked, calls.end(), "rbd_mirror_image_create_snapshot2"), 3);
  EXPECT_THAT(seconds, Each(AllOf(::testing::Ge(20), ::testing::Le(40))));
}

TEST_F(GroupPointTest, WithoutThatLockNothingIsMade) {
  a_.SetTransientLocks(false);
  world_.ClearCalls();
  EXPECT_THAT(Make(on_a_, "night"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("Ceph 19.2.4")));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupPointTest, AMemberThatIsBehindKeepsAllFromOne) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  a_.CreateMirrorSnapshot(Image(1));
  world_.AdvanceToSecond(30);
  world_.ClearCalls();
  EXPECT_THAT(Make(on_a_, "night"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(ids_[1])));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(GroupPointTest, WhatFailsInTheMiddleLeavesNoPoint) {
  int made = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_snap_create2" && ++made == 2 ? EDQUOT : 0;
  });
  EXPECT_THAT(Make(on_a_, "night"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("volume group"), HasSubstr(Image(1)))));
  world_.SetCallHook(nullptr);
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(Of(a_, i), IsEmpty()) << i;
  EXPECT_OK(Make(on_a_, "night"));
}

TEST_F(GroupPointTest, ACallThatIsRepeatedGoesOnWithTheSamePoints) {
  int made = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_create_snapshot2" && ++made > 6 ? EIO : 0;
  });
  EXPECT_FALSE(Make(on_a_, "night").ok());
  world_.SetCallHook(nullptr);
  const std::vector<std::string> left = Of(a_, 0);
  ASSERT_THAT(left, SizeIs(1));
  world_.AdvanceToSecond(30);
  const auto repeated = Make(on_a_, "night");
  ASSERT_OK(repeated);
  EXPECT_EQ(*repeated, left[0]);
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(Of(a_, i), left) << i;
}

TEST_F(GroupPointTest, OneThatWasReadIsNotMadeAgain) {
  const auto made = Make(on_a_, "night");
  ASSERT_OK(made);
  for (const std::string& id : ids_) {
    world_.AdvanceToSecond(30);
    ASSERT_OK(Run([&](OperationContext& context) -> absl::Status {
      const auto digested =
          DigestPoint(context, on_a_.environment(), on_a_.Target(id), *made, 0);
      if (!digested.ok()) return digested.status();
      return StoreRecord(context, on_a_.environment(), on_a_.Target(id), *made,
                         digested->snapshot, digested->record)
          .status();
    }));
  }
  EXPECT_THAT(Make(on_a_, "night"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(*made)));
  world_.AdvanceToSecond(30);
  EXPECT_OK(Make(on_a_, "noon"));
}

TEST_F(GroupPointTest, WhatAnInterruptedCallHasLeftGoesWhenItIsMade) {
  constexpr char kLeft[] = "night-of-3-0000000a";
  a_.AddSnapshot(Image(0), SnapshotNameOf(kLeft), SnapshotKind::kUser);
  a_.AddSnapshot(Image(2), SnapshotNameOf("night-of-4-0000000b"),
                 SnapshotKind::kUser);
  EXPECT_THAT(Listed(on_a_), IsEmpty());
  const auto made = Make(on_a_, "night");
  ASSERT_OK(made);
  EXPECT_NE(*made, kLeft);
  EXPECT_THAT(Of(a_, 0), ElementsAre(*made));
  EXPECT_THAT(Of(a_, 2), ElementsAre("night-of-4-0000000b", *made))
      << "it may be of another group";
}

TEST_F(GroupPointTest, ItIsRemovedFromAllMembers) {
  const auto made = Make(on_a_, "night");
  ASSERT_OK(made);
  const GroupTarget group = Group(on_a_);
  const auto remove = [&](const std::string& name) {
    absl::StatusOr<bool> removed = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      removed = RemoveGroupPoint(context, on_a_.environment(), group, name);
      return removed.status();
    });
    return status.ok() ? removed : absl::StatusOr<bool>(status);
  };
  EXPECT_THAT(remove("night"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(remove(*made).value(), true);
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(Of(a_, i), IsEmpty()) << i;
  EXPECT_EQ(remove(*made).value(), false);
}

TEST_F(GroupPointTest, ManyMembersHaveNone) {
  GroupTarget group = Group(on_a_);
  group.members.resize(kMostTogether + 1, group.members[0]);
  EXPECT_THAT(Run([&](OperationContext& context) {
                return MakeGroupPoint(context, on_a_.environment(), group, "x")
                    .status();
              }),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("101 members")));
}

/// All members had 7, 8 and 9 at the point, and all had 50 when a was lost.
class GroupTakeoverTest : public GroupPointTest {
 protected:
  void MakeAndGoOn() {
    const auto made = Make(on_a_, "night");
    ASSERT_OK(made);
    point_ = *made;
    for (size_t i = 0; i < 3; ++i) ASSERT_OK(a_.Write(Image(i), 50));
    SyncAll();
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(b_.Data(Image(i)), 50U);
  }
  void Lose() {
    LoseA();
    deadline_ = std::chrono::minutes(20);
  }
  absl::Status TakeOver(const std::string& point, Force force = Force::kYes) {
    return PromoteAll(on_b_, force, {{"restorePoint", point}});
  }
  std::string point_;
};

TEST_F(GroupTakeoverTest, AllMembersGoBackToOneInstant) {
  MakeAndGoOn();
  Lose();
  ASSERT_OK(TakeOver(point_));
  EXPECT_EQ(PrimariesOn(b_), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(b_.Data(Image(i)), 7 + i);
  EXPECT_OK(TakeOver(point_)) << "as the operator says it again";
  EXPECT_OK(PromoteAll(on_b_));
}

TEST_F(GroupTakeoverTest, APlannedMoveGoesBackToIt) {
  MakeAndGoOn();
  ASSERT_OK(DemoteAll(on_a_));
  world_.Advance(std::chrono::minutes(1));
  deadline_ = std::chrono::minutes(20);
  ASSERT_OK(TakeOver(point_, Force::kNo));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(b_.Data(Image(i)), 7 + i);
}

TEST_F(GroupTakeoverTest, NoneIsPromotedWhereOneHasNotThePoint) {
  MakeAndGoOn();
  ASSERT_OK(Run([&](OperationContext& context) {
    return RemovePoint(context, on_a_.environment(), on_a_.Target(ids_[1]),
                       point_)
        .status();
  }));
  SyncAll();
  Lose();
  EXPECT_THAT(TakeOver(point_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 ready"), HasSubstr(ids_[1]))));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

TEST_F(GroupTakeoverTest, PointsOfOtherGroupsAreRefused) {
  MakeAndGoOn();
  Lose();
  EXPECT_THAT(TakeOver("night-of-4-0000000a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of a group of 4 volumes")));
  EXPECT_THAT(TakeOver("night"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("of one volume")));
  EXPECT_EQ(PrimariesOn(b_), 0U);
}

/// Dies before and after each change; a new daemon repeats the call.
TEST_F(GroupPointTest, ADeathAtEachChangeIsRepaired) {
  int changes = 0;
  for (int k = 0; k == 0 || k <= changes; ++k) {
    for (const bool after : {false, true}) {
      SCOPED_TRACE(absl::StrCat("died ", after ? "after" : "before", " change ",
                                k, " of ", changes));
      const std::string base = absl::StrCat("n", k, after ? "a" : "b");
      world_.Advance(std::chrono::minutes(2));
      world_.AdvanceToSecond(30);
      if (k == 0) {
        world_.ClearCalls();
        ASSERT_OK(Make(on_a_, base));
        changes = world_.CountMutations();
        ASSERT_GT(changes, 9);
        continue;
      }
      world_.StrikeAtMutation(k, 0, after);
      EXPECT_THROW(Make(on_a_, base).IgnoreError(), FakeCrash);
      world_.SetCallHook(nullptr);
      Daemon next(world_, pair_, a_);
      absl::StatusOr<std::string> repeated = Make(next, base);
      for (int i = 0; i < 20 && !repeated.ok(); ++i) {
        world_.Advance(std::chrono::seconds(20));
        repeated = Make(next, base);
      }
      ASSERT_OK(repeated);
      for (size_t i = 0; i < 3; ++i) {
        const std::vector<std::string> points = Of(a_, i);
        EXPECT_EQ(std::count_if(points.begin(), points.end(),
                                [&](const std::string& point) {
                                  return point.rfind(base + "-of-", 0) == 0;
                                }),
                  1)
            << i;
        EXPECT_EQ(std::count(points.begin(), points.end(), *repeated), 1) << i;
      }
    }
  }
}

}  // namespace
}  // namespace addons
