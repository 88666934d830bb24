// Plans of points on simulated clusters, with the rounds of both sites.

#include "points/point_rounds.h"

#include <any>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "points/planned_work.h"
#include "tests/unit/points/points_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class PointRoundsTest : public PointsTest {
 protected:
  void SetUp() override {
    PointsTest::SetUp();
    Plan(on_a_, {{hours(1), 2}});
    Plan(on_b_, {{hours(1), 2}});
  }
  void Plan(Daemon& daemon, PointPlan plan) {
    EXPECT_TRUE(daemon.environment().point_plans.Note(
        daemon.Target(id_).volume_id, daemon.Target(id_).user,
        std::move(plan)));
  }
  PointRounds::Run Runner() {
    return [this](const OperationSpec& spec, seconds,
                  const OperationWork& work) -> absl::StatusOr<std::any> {
      ran_.push_back(spec.verb);
      // It may take itself away.
      if (const auto before = before_) before(spec);
      return Called<std::any>(work);
    };
  }
  /// A round of both loops at both sites, half a minute after a full minute.
  void Round() {
    world_.AdvanceToSecond(30);
    for (PointRounds* const rounds : {&at_a_, &at_b_}) {
      rounds->Make();
      rounds->Read();
    }
  }
  /// Rounds for so long, one each few minutes, and syncs between.
  void RunFor(minutes time) {
    const SteadyTime end = world_.Now() + time;
    while (world_.Now() < end) {
      Round();
      world_.Advance(minutes(4));
      EXPECT_OK(Sync());
    }
  }
  std::vector<std::string> Names(Daemon& daemon) {
    std::vector<std::string> names;
    for (const ListedPoint& point : List(daemon)) names.push_back(point.name);
    return names;
  }
  KnownProof ProofAtB() { return See(on_b_).proof; }

  std::vector<std::string> ran_;
  std::function<void(const OperationSpec&)> before_;
  PointRounds at_a_{on_a_.environment(), Runner()};
  PointRounds at_b_{on_b_.environment(), Runner()};
};

TEST_F(PointRoundsTest, TheCopyIsProvenWithoutACall) {
  RunFor(minutes(40));
  EXPECT_THAT(Names(on_a_), SizeIs(1));
  EXPECT_EQ(Names(on_b_), Names(on_a_));
  const KnownProof proof = ProofAtB();
  EXPECT_EQ(proof.point, Names(on_a_).front());
  EXPECT_TRUE(proof.whole());
  EXPECT_EQ(at_a_.counts().made, 1U);
  EXPECT_EQ(at_a_.counts().read, 1U);
  EXPECT_EQ(at_b_.counts().compared, 1U);
  EXPECT_EQ(at_b_.counts().made, 0U);
  EXPECT_EQ(at_a_.counts().volumes, 1U);
  EXPECT_EQ(at_a_.counts().failing, 0U);
}

TEST_F(PointRoundsTest, AnHourLaterThereIsTheNextAndOldOnesGo) {
  RunFor(minutes(4 * 60));
  const std::vector<std::string> names = Names(on_a_);
  ASSERT_THAT(names, SizeIs(3)) << "two, and the one that was compared";
  const absl::Duration apart =
      ParsePlannedName(names[2])->time - ParsePlannedName(names[1])->time;
  EXPECT_GT(apart, absl::Minutes(45));
  EXPECT_LT(apart, absl::Minutes(75));
  EXPECT_THAT(Names(on_b_), SizeIs(3));
  EXPECT_GE(at_a_.counts().made, 4U);
  EXPECT_EQ(ProofAtB().point, names[0]);
  EXPECT_EQ(at_a_.counts().read, 1U) << "all of the image, once a day";
}

TEST_F(PointRoundsTest, WhatAPersonMadeStays) {
  ASSERT_OK(MakeWhole("mine"));
  RunFor(minutes(4 * 60));
  EXPECT_THAT(Names(on_a_), SizeIs(3));
  EXPECT_EQ(Names(on_a_).front(), "mine");
}

TEST_F(PointRoundsTest, DamageIsFoundByItself) {
  RunFor(minutes(40));
  ASSERT_TRUE(ProofAtB().whole());
  // A rollback, which does not reach the copy.
  a_.AddSnapshot(image_, "earlier", SnapshotKind::kUser);
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  a_.RollBack(image_, "earlier");
  RunFor(minutes(25 * 60));
  EXPECT_FALSE(ProofAtB().whole());
  EXPECT_THAT(Promote(on_b_), Not(IsOk()));
}

TEST_F(PointRoundsTest, ARestartOrAnotherReplicaMakesNoSecondOne) {
  RunFor(minutes(30));
  const std::vector<std::string> names = Names(on_a_);
  PointRounds another(on_a_.environment(), Runner());
  world_.AdvanceToSecond(30);
  another.Make();
  another.Read();
  EXPECT_EQ(Names(on_a_), names);
  EXPECT_EQ(another.counts().made, 0U);
  EXPECT_EQ(another.counts().read, 0U);
}

TEST_F(PointRoundsTest, ACopyThatWasComparedIsNotComparedAgain) {
  RunFor(minutes(50));
  ASSERT_EQ(at_b_.counts().compared, 1U);
  PointRounds another(on_b_.environment(), Runner());
  another.Make();
  another.Read();
  EXPECT_EQ(another.counts().compared, 0U);
}

TEST_F(PointRoundsTest, NothingIsAskedBeforeSomethingIsDue) {
  Round();
  ran_.clear();
  at_a_.Make();
  at_b_.Make();
  EXPECT_THAT(ran_, IsEmpty());
}

// What a person has read comes first, and what people asked for is found.
TEST_F(PointRoundsTest, ReadingsGiveWayAndAllOfItIsRoutine) {
  int readings = 0;
  before_ = [&](const OperationSpec& spec) {
    EXPECT_TRUE(spec.routine) << spec.verb;
    EXPECT_EQ(spec.yields, spec.lane == Lane::kBulk) << spec.verb;
    readings += spec.lane == Lane::kBulk ? 1 : 0;
  };
  RunFor(minutes(40));
  EXPECT_EQ(readings, 2) << "one on each site";
}

TEST_F(PointRoundsTest, WithoutAPlanNothingIsAsked) {
  Plan(on_a_, {});
  Plan(on_b_, {});
  world_.ClearCalls();
  Round();
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_THAT(world_.Calls(), IsEmpty());
  EXPECT_EQ(at_a_.counts().volumes, 0U);
}

TEST_F(PointRoundsTest, WhatMayPassIsTriedAgainAndToldWhenItLasts) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(a_.Write(image_, 9));
  ASSERT_OK(MakeSync(on_a_).status());
  world_.AdvanceToSecond(30);
  const SteadyTime began = world_.Now();
  at_a_.Make();
  EXPECT_LT(world_.Now() - began, seconds(1)) << "others would wait";
  EXPECT_THAT(Names(on_a_), IsEmpty()) << "the other site is not in step";
  EXPECT_GT(at_a_.counts().failed, 0U);
  EXPECT_EQ(at_a_.counts().failing, 0U);
  for (int round = 0; round < 5; ++round) {
    world_.Advance(minutes(4));
    Round();
  }
  EXPECT_EQ(at_a_.counts().failing, 1U);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  RunFor(minutes(20));
  EXPECT_THAT(Names(on_a_), SizeIs(1));
  EXPECT_EQ(at_a_.counts().failing, 0U);
}

TEST_F(PointRoundsTest, WhatAPersonHasToMendIsToldAtOnce) {
  a_.SetSnapshotLimit(image_, 4);
  Round();
  EXPECT_EQ(at_a_.counts().failing, 1U);
}

// The plan's own points may be what fills the pool.
TEST_F(PointRoundsTest, OldOnesGoAlsoWhereNoneCanBeMade) {
  Plan(on_a_, {{hours(1), 4}});
  RunFor(minutes(3 * 60));
  ASSERT_GE(Names(on_a_).size(), 3U);
  Plan(on_a_, {{hours(1), 1}});
  a_.SetFull(true);
  world_.Advance(hours(1));
  Round();
  EXPECT_THAT(Names(on_a_), SizeIs(2)) << "the newest, and that of the record";
  a_.SetFull(false);
}

TEST_F(PointRoundsTest, OneThatCannotBeRemovedKeepsNoOther) {
  Plan(on_a_, {{hours(1), 4}});
  RunFor(minutes(4 * 60));
  ASSERT_GE(Names(on_a_).size(), 4U);
  const std::string second = Names(on_a_)[1];
  Plan(on_a_, {{hours(1), 1}});
  world_.Advance(hours(1));
  EXPECT_OK(Sync());
  int removals = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_snap_remove_by_id" && ++removals == 1 ? EBUSY : 0;
  });
  Round();
  world_.SetCallHook(nullptr);
  EXPECT_GE(removals, 3);
  EXPECT_THAT(Names(on_a_), Contains(second));
  EXPECT_LE(Names(on_a_).size(), 3U);
}

TEST_F(PointRoundsTest, WithoutReplicationThePlanEnds) {
  Round();
  ASSERT_OK(Disable(on_a_));
  world_.Advance(hours(1));
  at_a_.Make();
  EXPECT_EQ(at_a_.counts().volumes, 0U);
  EXPECT_EQ(at_a_.counts().failing, 0U);
}

// What took hours is not read again for a store that failed.
TEST_F(PointRoundsTest, WhatWasReadIsStoredAtLast) {
  world_.AdvanceToSecond(30);
  at_a_.Make();
  before_ = [this](const OperationSpec& spec) {
    a_.SetFull(spec.verb == "store a planned point");
  };
  at_a_.Read();
  before_ = nullptr;
  a_.SetFull(false);
  EXPECT_EQ(at_a_.counts().read, 1U);
  EXPECT_FALSE(List(on_a_).front().recorded);
  world_.Advance(minutes(16));
  world_.AdvanceToSecond(30);
  at_a_.Read();
  EXPECT_EQ(at_a_.counts().read, 1U);
  EXPECT_TRUE(List(on_a_).front().recorded);
}

TEST_F(PointRoundsTest, AReadingThatFailsIsBegunLessAndLessOften) {
  world_.AdvanceToSecond(30);
  at_a_.Make();
  int readings = 0;
  before_ = [&](const OperationSpec& spec) {
    readings += spec.lane == Lane::kBulk ? 1 : 0;
  };
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rados_read" ? EIO : 0;
  });
  for (int minute = 0; minute < 8 * 60; ++minute) {
    at_a_.Read();
    world_.Advance(minutes(1));
  }
  world_.SetCallHook(nullptr);
  EXPECT_GE(readings, 3);
  EXPECT_LE(readings, 7);
  EXPECT_EQ(at_a_.counts().failing, 1U);
}

TEST_F(PointRoundsTest, WhatCannotBeKeptIsNotComparedAgainAndAgain) {
  world_.SetCallHook([](absl::string_view site, absl::string_view call, bool) {
    return site == "b" && call == "rados_write_op_omap_set2" ? EPERM : 0;
  });
  RunFor(minutes(100));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(at_b_.counts().compared, 1U);
  EXPECT_EQ(ProofAtB().point, "");
}

// Who reads for hours finds the point still there.
TEST_F(PointRoundsTest, APointThatIsBeingReadStays) {
  world_.AdvanceToSecond(30);
  at_a_.Make();
  ASSERT_THAT(Names(on_a_), SizeIs(1));
  const std::string read = Names(on_a_).front();
  const auto hours_pass = [&](const OperationSpec& spec) {
    if (spec.lane != Lane::kBulk) return;
    before_ = nullptr;
    for (int hour = 0; hour < 4; ++hour) {
      world_.Advance(hours(1));
      EXPECT_OK(Sync());
      world_.AdvanceToSecond(30);
      at_a_.Make();
    }
    EXPECT_THAT(Names(on_a_), AllOf(SizeIs(3), Contains(read)));
  };
  before_ = hours_pass;
  at_a_.Read();
  EXPECT_EQ(at_a_.counts().read, 1U);
  EXPECT_EQ(at_a_.counts().failing, 0U);
}

TEST_F(PointRoundsTest, TheNewPrimaryGoesOn) {
  RunFor(minutes(40));
  ASSERT_OK(Demote(on_a_));
  ASSERT_OK(Promote(on_b_));
  const SteadyTime end = world_.Now() + minutes(90);
  while (world_.Now() < end) {
    const auto made = MakeSync(on_b_);
    ASSERT_OK(made);
    ASSERT_OK(AwaitSync(on_b_, *made));
    Round();
    world_.Advance(minutes(4));
  }
  EXPECT_GE(at_b_.counts().made, 1U);
  EXPECT_THAT(Names(on_b_), Not(IsEmpty()));
  EXPECT_GE(at_a_.counts().compared, 1U);
}

}  // namespace
}  // namespace addons::testing
