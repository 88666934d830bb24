// Promotions to a point, on simulated clusters: what had arrived last is kept,
// and the image holds the point when the call is OK.

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "points/prove.h"
#include "points/rollback.h"
#include "replication/group/promote.h"
#include "replication/look/point.h"
#include "replication/look/record.h"
#include "replication/look/rollback_mark.h"
#include "tests/unit/points/points_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class PromoteToPointTest : public PointsTest {
 protected:
  /// "first" has 7, "second" has 8, and both sites have 9.
  void MakeTwoAndGoOn() {
    ASSERT_OK(Make(on_a_, "first"));
    ASSERT_OK(a_.Write(image_, 8));
    ASSERT_OK(Sync());
    world_.AdvanceToSecond(30);
    ASSERT_OK(Make(on_a_, "second"));
    ASSERT_OK(a_.Write(image_, 9));
    world_.AdvanceToSecond(30);
    ASSERT_OK(Sync());
    ASSERT_EQ(b_.Data(image_), 9U);
  }
  /// The same, and site a is lost.
  void LoseAfterTwo() {
    MakeTwoAndGoOn();
    LoseA();
    deadline_ = minutes(10);
  }
  absl::Status PromoteTo(Daemon& daemon, const std::string& point,
                         Force force = Force::kYes) {
    return Promote(daemon, force, {{"restorePoint", point}});
  }
  void Resize(FakeSite& site, uint64_t bytes) {
    const auto pool =
        pair_.cluster(site)->OpenPool(pair_.pool_id(site), "", Access::kMutate);
    ASSERT_OK(pool);
    const auto image = (*pool)->OpenImage(ImageName(image_));
    ASSERT_OK(image);
    ASSERT_OK((*image)->Resize(bytes));
    ASSERT_OK((*image)->Close());
  }
  bool Noted(FakeSite& site) {
    return site.ImageMetadata(image_).contains(kRollbackKey);
  }
  std::vector<Point> PointsOn(FakeSite& site) {
    return PointsIn(site.OtherSnapshots(image_));
  }
};

TEST_F(PromoteToPointTest, ADisasterIsAnsweredWithAnOlderState) {
  LoseAfterTwo();
  ASSERT_OK(PromoteTo(on_b_, "first"));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_FALSE(Noted(b_));
  EXPECT_FALSE(b_.HasLock(image_));
  // What was given up is kept, and nothing else of the site that is lost.
  const std::vector<Point> points = PointsOn(b_);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_THAT(points.front().name, StartsWith("before-"));
  // The operator says it again and again.
  EXPECT_OK(PromoteTo(on_b_, "first"));
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(PointsOn(b_).size(), 1U);
  // And back to what was given up.
  const auto back = RollBack(on_b_, points.front().name);
  ASSERT_OK(back);
  EXPECT_EQ(b_.Data(image_), 9U);
}

TEST_F(PromoteToPointTest, APlannedMoveTakesItToBothSites) {
  MakeTwoAndGoOn();
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  deadline_ = minutes(10);
  ASSERT_OK(PromoteTo(on_b_, "second", Force::kNo));
  EXPECT_EQ(b_.Data(image_), 8U);
  world_.Advance(minutes(2));
  EXPECT_EQ(a_.Data(image_), 8U);
  EXPECT_FALSE(Noted(a_));
  EXPECT_FALSE(Noted(b_));
}

TEST_F(PromoteToPointTest, WhatIsNotThereChangesNothing) {
  LoseAfterTwo();
  EXPECT_THAT(PromoteTo(on_b_, "third"),
              StatusIs(kInvalid, AllOf(HasSubstr("no point 'third'"),
                                       HasSubstr("first, second"))));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_FALSE(Noted(b_));
  EXPECT_THAT(ReplicationParameters::Parse({{"restorePoint", "a/b"}}).status(),
              StatusIs(kInvalid, HasSubstr("restorePoint")));
  EXPECT_THAT(ReplicationParameters::Parse(
                  {{"restorePoint", "first"}, {"mirroringMode", "journal"}})
                  .status(),
              StatusIs(kInvalid, HasSubstr("journal")));
}

// rbd-mirror brings the name of a point before anything of its copy.
TEST_F(PromoteToPointTest, APointThatHasArrivedInPartIsNone) {
  MakeTwoAndGoOn();
  b_.AddSnapshot(image_, SnapshotNameOf("third"), SnapshotKind::kUser);
  LoseA();
  deadline_ = minutes(10);
  EXPECT_THAT(PromoteTo(on_b_, "third"),
              StatusIs(kInvalid, HasSubstr("has not arrived whole")));
  EXPECT_FALSE(b_.Info(image_).primary);
  ASSERT_OK(PromoteTo(on_b_, "second"));
  EXPECT_EQ(b_.Data(image_), 8U);
}

TEST_F(PromoteToPointTest, APrimaryThatWasNotPromotedToItSaysSo) {
  LoseAfterTwo();
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_THAT(PromoteTo(on_b_, "first"),
              StatusIs(kInvalid, HasSubstr("is primary already")));
  EXPECT_THAT(PromoteTo(on_b_, "first", Force::kNo), StatusIs(kInvalid));
  EXPECT_EQ(b_.Data(image_), 9U);
}

// Of an earlier term as primary.
TEST_F(PromoteToPointTest, WhatAnEarlierPromotionWentBackToIsOver) {
  LoseAfterTwo();
  ASSERT_OK(PromoteTo(on_b_, "first"));
  b_.Demote(image_);
  EXPECT_THAT(PromoteTo(on_b_, "first"),
              StatusIs(kInvalid, HasSubstr("has demoted it")));
  ASSERT_OK(Promote(on_b_, Force::kYes));
  EXPECT_THAT(PromoteTo(on_b_, "first"), StatusIs(kInvalid));
}

TEST_F(PromoteToPointTest, WhoHasItOpenIsAwaited) {
  LoseAfterTwo();
  b_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
  const absl::Status held = PromoteTo(on_b_, "first");
  EXPECT_THAT(held, StatusIs(kUnavailable, HasSubstr("10.0.0.5:0/1")));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_TRUE(Noted(b_));
  // Nobody is told that all is well, and nobody takes it for the point.
  const auto says = AllOf(HasSubstr("promotion to point 'first'"),
                          HasSubstr("not the point"));
  EXPECT_THAT(Promote(on_b_, Force::kYes), StatusIs(kUnavailable, says));
  EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable, says));
  EXPECT_THAT(PromoteTo(on_b_, "third"), StatusIs(kUnavailable));
  const auto info = Info(on_b_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  b_.RemoveWatcher(image_, 4711);
  ASSERT_OK(PromoteTo(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
}

TEST_F(PromoteToPointTest, ARollbackOfThatPointGoesOnWithItToo) {
  LoseAfterTwo();
  b_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
  EXPECT_THAT(PromoteTo(on_b_, "first"), StatusIs(kUnavailable));
  b_.RemoveWatcher(image_, 4711);
  const auto done = RollBack(on_b_, "first");
  ASSERT_OK(done);
  EXPECT_THAT(done->kept, StartsWith("before-"));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_OK(PromoteTo(on_b_, "first"));
}

// librbd refuses the promotion: the note of a secondary would be in the way of
// a planned move later.
TEST_F(PromoteToPointTest, APromotionThatIsRefusedLeavesNoNote) {
  LoseAfterTwo();
  world_.SetCallHook([](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_promote" ? EIO : 0;
  });
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  world_.SetCallHook(nullptr);
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_FALSE(Noted(b_));
}

TEST_F(PromoteToPointTest, WhoDiedBeforeThePromotionMayChooseAnother) {
  LoseAfterTwo();
  RollbackMark mark;
  mark.point = "first";
  mark.since = "2026-01-31T12:01:07Z";
  mark.of_promotion = true;
  mark.untouched = true;
  MirrorView view;
  view.info.global_id = b_.Info(image_).global_id;
  // Of another site it is none: nothing was written there.
  view.image_id = "of a";
  MirrorView elsewhere = view;
  elsewhere.marks[kRollbackKey] = FormatRollbackMark(mark, view);
  elsewhere.image_id = b_.ImageId(image_);
  EXPECT_FALSE(ReadRollbackMark(elsewhere).has_value());
  view.image_id = b_.ImageId(image_);
  b_.SetImageMetadata(image_, kRollbackKey, FormatRollbackMark(mark, view));
  ASSERT_OK(PromoteTo(on_b_, "second"));
  EXPECT_EQ(b_.Data(image_), 8U);
}

// Taken back in the middle: neither of the two is lost on the way.
TEST_F(PromoteToPointTest, OneThatHasWrittenIsTakenBackOrGoesOn) {
  LoseAfterTwo();
  int writes = 0;
  const auto break_off = [&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  };
  world_.SetCallHook(break_off);
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  const std::string kept = PointsOn(b_).back().name;
  ASSERT_THAT(kept, StartsWith("before-"));
  // What takes it back dies, too.
  writes = 1;
  EXPECT_THAT(RollBack(on_b_, kept), Not(IsOk()));
  world_.SetCallHook(nullptr);
  ASSERT_TRUE(b_.Torn(image_));
  ASSERT_OK(RollBack(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
  ASSERT_EQ(PointsOn(b_).size(), 1U);
  EXPECT_EQ(PointsOn(b_).front().name, kept);
  EXPECT_OK(PromoteTo(on_b_, "first"));
}

TEST_F(PromoteToPointTest, WhatTakesItBackIsNoPromotionToThePoint) {
  LoseAfterTwo();
  int writes = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  });
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  world_.SetCallHook(nullptr);
  const std::string kept = PointsOn(b_).back().name;
  ASSERT_OK(RollBack(on_b_, kept));
  EXPECT_EQ(b_.Data(image_), 9U);
  ASSERT_EQ(PointsOn(b_).size(), 1U) << "it is of this term, and stays";
  EXPECT_EQ(PointsOn(b_).front().name, kept);
  for (const std::string& name : {std::string("first"), kept}) {
    EXPECT_THAT(PromoteTo(on_b_, name), StatusIs(kInvalid)) << name;
  }
  EXPECT_OK(Promote(on_b_));
}

// Walks between the two states lose neither.
TEST_F(PromoteToPointTest, WhatWasKeptIsNeededUntilTheEnd) {
  LoseAfterTwo();
  int writes = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  });
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  const std::string kept = PointsOn(b_).back().name;
  writes = 1;
  EXPECT_THAT(RollBack(on_b_, kept), Not(IsOk()));
  world_.SetCallHook(nullptr);
  for (const std::string& needed : {std::string("first"), kept}) {
    EXPECT_THAT(Remove(on_b_, needed), StatusIs(kUnavailable)) << needed;
  }
}

// The manager's snapshots go on meanwhile, and the first of the term are gone.
TEST_F(PromoteToPointTest, WhatWasKeptByATryThatDiedIsOfThisTerm) {
  MakeTwoAndGoOn();
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  deadline_ = minutes(10);
  int writes = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  });
  EXPECT_THAT(PromoteTo(on_b_, "first", Force::kNo), Not(IsOk()));
  world_.SetCallHook(nullptr);
  const Point kept = PointsOn(b_).back();
  for (int i = 0; i < 8; ++i) {
    b_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
  }
  ASSERT_GT(b_.Snapshots(image_).front().id, kept.snapshot);
  ASSERT_OK(PromoteTo(on_b_, "first", Force::kNo));
  ASSERT_OK(RollBack(on_b_, kept.name));
  EXPECT_EQ(b_.Data(image_), 9U);
}

// What another rollback has made of it since is not that point.
TEST_F(PromoteToPointTest, AfterAnotherRollbackItDoesNotHoldThePoint) {
  LoseAfterTwo();
  ASSERT_OK(PromoteTo(on_b_, "first"));
  ASSERT_OK(RollBack(on_b_, PointsOn(b_).front().name));
  EXPECT_THAT(PromoteTo(on_b_, "first"), StatusIs(kInvalid));
}

TEST_F(PromoteToPointTest, InTheTermOfAnotherProgramItDoesNotHoldThePoint) {
  LoseAfterTwo();
  ASSERT_OK(PromoteTo(on_b_, "first"));
  b_.Demote(image_);
  b_.Promote(image_, Force::kYes);
  EXPECT_THAT(PromoteTo(on_b_, "first", Force::kYes), StatusIs(kInvalid));
}

TEST_F(PromoteToPointTest, ANewPointOfThatNameIsAnotherOne) {
  LoseAfterTwo();
  ASSERT_OK(PromoteTo(on_b_, "first"));
  ASSERT_OK(PromoteTo(on_b_, "first"));
  b_.AddSnapshot(image_, SnapshotNameOf("first"), SnapshotKind::kUser);
  EXPECT_THAT(PromoteTo(on_b_, "first"), StatusIs(kInvalid));
}

// A badly chosen one costs nothing: the others stay until it is there.
TEST_F(PromoteToPointTest, UntilItIsTouchedAnotherPointMayBeChosen) {
  LoseAfterTwo();
  b_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
  EXPECT_THAT(PromoteTo(on_b_, "first"), StatusIs(kUnavailable));
  ASSERT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(PointsOn(b_).size(), 2U);
  b_.RemoveWatcher(image_, 4711);
  EXPECT_THAT(PromoteTo(on_b_, "third"), StatusIs(kUnavailable));
  ASSERT_OK(PromoteTo(on_b_, "second"));
  EXPECT_EQ(b_.Data(image_), 8U);
  EXPECT_EQ(PointsOn(b_).size(), 1U);
}

// On a secondary nobody could make it larger.
TEST_F(PromoteToPointTest, WhatIsTooSmallIsMadeLargerWhenItIsPrimary) {
  MakeTwoAndGoOn();
  Resize(a_, kSmallImage / 2);
  ASSERT_OK(Sync());
  LoseA();
  deadline_ = minutes(10);
  EXPECT_THAT(PromoteTo(on_b_, "first"),
              StatusIs(kUnavailable, HasSubstr("rbd resize")));
  EXPECT_TRUE(Noted(b_));
  Resize(b_, kSmallImage);
  ASSERT_OK(PromoteTo(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
}

TEST_F(PromoteToPointTest, ADamagedPointIsNotPromotedTo) {
  // What its map calls unchanged is not copied.
  a_.AddSnapshot(image_, "earlier", SnapshotKind::kUser);
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  a_.RollBack(image_, "earlier");
  ASSERT_OK(MakeWhole("first"));
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  ASSERT_EQ(proof->verdict(), Proof::Verdict::kDamaged);
  LoseA();
  deadline_ = minutes(10);
  EXPECT_THAT(PromoteTo(on_b_, "first"),
              StatusIs(kInvalid, HasSubstr("damaged")));
  EXPECT_FALSE(b_.Info(image_).primary);
}

// A rollback of the other site was under way, and arrived here.
TEST_F(PromoteToPointTest, TheOtherSitesRollbackIsEndedByThePromotion) {
  MakeTwoAndGoOn();
  int writes = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  });
  EXPECT_THAT(RollBack(on_a_, "first"), Not(IsOk()));
  world_.SetCallHook(nullptr);
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  ASSERT_TRUE(Noted(b_));
  LoseA();
  deadline_ = minutes(10);
  EXPECT_THAT(PromoteTo(on_b_, "second"),
              StatusIs(kInvalid, HasSubstr("mixture")));
  ASSERT_OK(PromoteTo(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_OK(PromoteTo(on_b_, "first"));
}

// What a forced promotion leaves that died tells nothing of what has arrived.
TEST_F(PromoteToPointTest, AnOrphanIsNoCopy) {
  MirrorView view;
  MirrorSnapshot copy;
  copy.id = 10;
  copy.kind = MirrorSnapshotKind::kNonPrimary;
  copy.complete = true;
  copy.primary_mirror_uuid = "a";
  MirrorSnapshot orphan = copy;
  orphan.id = 13;
  orphan.primary_mirror_uuid.clear();
  view.snapshots = {copy, orphan};
  EXPECT_TRUE(ArrivedWhole(view, {"first", 9}));
  EXPECT_FALSE(ArrivedWhole(view, {"third", 11}));
}

// Somebody has removed the point that keeps what was given up.
TEST_F(PromoteToPointTest, AMixtureIsNeverTakenForWhatHadArrived) {
  LoseAfterTwo();
  int writes = 0;
  const auto fail_second = [&](absl::string_view, absl::string_view call,
                               bool) {
    return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
  };
  world_.SetCallHook(fail_second);
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  const std::vector<Point> points = PointsOn(b_);
  ASSERT_EQ(points.size(), 3U) << "and what is kept";
  b_.RemoveSnapshot(image_, SnapshotNameOf(points.back().name));
  writes = 0;
  EXPECT_THAT(PromoteTo(on_b_, "first"), Not(IsOk()));
  world_.SetCallHook(nullptr);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("mixture")));
  ASSERT_OK(PromoteTo(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_TRUE(PointsOn(b_).empty()) << "of a mixture nothing is kept";
}

// Mirror snapshots of the term are dropped after a while.
TEST_F(PromoteToPointTest, WhatIsKeptCanBeGoneBackToForGood) {
  MakeTwoAndGoOn();
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  deadline_ = minutes(10);
  ASSERT_OK(PromoteTo(on_b_, "first", Force::kNo));
  const std::vector<Point> points = PointsOn(b_);
  ASSERT_EQ(points.size(), 1U);
  for (int i = 0; i < 8; ++i) {
    ASSERT_OK(b_.Write(image_, 20 + i));
    b_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
  }
  ASSERT_GT(b_.Snapshots(image_).front().id, points.front().snapshot);
  const auto back = RollBack(on_b_, points.front().name);
  ASSERT_OK(back);
  EXPECT_EQ(b_.Data(image_), 9U);
}

// The promotion makes one, and the way back four.
TEST_F(PromoteToPointTest, WithoutRoomForSnapshotsItWaitsAndSaysSo) {
  LoseAfterTwo();
  b_.SetSnapshotLimit(image_, b_.Snapshots(image_).size() +
                                  b_.OtherSnapshots(image_).size() + 2);
  EXPECT_THAT(PromoteTo(on_b_, "second"),
              StatusIs(kUnavailable, HasSubstr("a rollback makes")));
  EXPECT_EQ(b_.Data(image_), 9U);
  b_.SetSnapshotLimit(image_, 50);
  ASSERT_OK(PromoteTo(on_b_, "second"));
  EXPECT_EQ(b_.Data(image_), 8U);
}

TEST_F(PromoteToPointTest, AGroupHasNoPointOfItsOwn) {
  GroupTarget target;
  target.members.resize(1);
  ReplicationParameters parameters;
  parameters.restore_point = "first";
  EXPECT_THAT(Run([&](OperationContext& context) {
                return PromoteGroup(context, on_b_.environment(), target,
                                    Force::kYes, parameters);
              }),
              StatusIs(kInvalid, HasSubstr("of one volume")));
}

/// Two sites for one run.
class PromoteToPointBench final : public PromoteToPointTest {
 public:
  PromoteToPointBench() { SetUp(); }
  ~PromoteToPointBench() override { TearDown(); }
  void TestBody() override {}
  absl::Status PromoteOn(Daemon& daemon) { return PromoteTo(daemon, "first"); }
  Daemon& acting() { return on_b_; }

  using PromoteToPointTest::b_;
  using PromoteToPointTest::image_;
  using PromoteToPointTest::LoseAfterTwo;
  using PromoteToPointTest::Noted;
  using PromoteToPointTest::on_b_;
  using PromoteToPointTest::pair_;
  using PromoteToPointTest::PointsOn;
  using PromoteToPointTest::RollBack;
  using PromoteToPointTest::world_;
};

TEST(PromoteToPointCrashTest, TheRepeatEndsAtThePoint) {
  DieAtEachChange<PromoteToPointBench>(
      &PromoteToPointBench::PromoteOn,
      [](PromoteToPointBench& bench) { bench.LoseAfterTwo(); },
      [](PromoteToPointBench& bench, Daemon& next) {
        EXPECT_TRUE(bench.b_.Info(bench.image_).primary);
        EXPECT_EQ(bench.b_.Data(bench.image_), 7U);
        EXPECT_FALSE(bench.Noted(bench.b_));
        const std::vector<Point> points = bench.PointsOn(bench.b_);
        ASSERT_FALSE(points.empty());
        for (const Point& point : points) {
          EXPECT_TRUE(point.name == "first" ||
                      absl::StartsWith(point.name, "before-"))
              << point.name;
        }
        ASSERT_OK(bench.RollBack(next, points.back().name));
        EXPECT_EQ(bench.b_.Data(bench.image_), 9U) << "what was given up";
      });
}

}  // namespace
}  // namespace addons::testing
