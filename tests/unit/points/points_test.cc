// Points on simulated clusters: made on one site, proven on the other one.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>

#include "replication/look/known_proofs.h"
#include "replication/look/point.h"
#include "tests/unit/points/points_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Verdict = Proof::Verdict;

TEST_F(PointsTest, AWholeCopyIsProven) {
  ASSERT_OK(MakeWhole("first"));
  // What is written later is no part of it.
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kWhole);
  EXPECT_FALSE(proof->primary);
  EXPECT_EQ(proof->header.point, "first");
  EXPECT_GT(proof->found.objects, 4U);
  EXPECT_EQ(proof->found.with_data, proof->found.objects);
  EXPECT_EQ(proof->found.not_cleared_bytes, 0U);
  EXPECT_GT(proof->found.bytes_read, 0U);
  // Also on the site where it was made.
  const auto own = Prove(on_a_);
  ASSERT_OK(own);
  EXPECT_EQ(own->verdict(), Verdict::kWhole);
  EXPECT_TRUE(own->primary);
}

// A rollback takes no object along that its map calls unchanged.
TEST_F(PointsTest, WhatARollbackTakesFromTheCopyIsFound) {
  a_.AddSnapshot(image_, "earlier", SnapshotKind::kUser);
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  a_.RollBack(image_, "earlier");
  ASSERT_OK(MakeWhole("after"));
  ASSERT_EQ(a_.Data(image_), 7);
  ASSERT_EQ(b_.Data(image_), 8) << "mirroring calls that a copy in step";
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kDamaged);
  EXPECT_THAT(proof->image, EndsWith("/" + image_));
  EXPECT_EQ(proof->found.damaged, proof->found.objects);
  ASSERT_FALSE(proof->found.first.empty());
  EXPECT_EQ(proof->found.first.front().object, 0U);
  EXPECT_EQ(proof->found.first[1].offset, proof->header.shape.object_bytes);
}

TEST_F(PointsTest, ADamagedCopyIsNotMovedTo) {
  a_.AddSnapshot(image_, "earlier", SnapshotKind::kUser);
  ASSERT_OK(a_.Write(image_, 8));
  ASSERT_OK(Sync());
  a_.RollBack(image_, "earlier");
  ASSERT_OK(MakeWhole("after"));
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  ASSERT_EQ(proof->verdict(), Verdict::kDamaged);
  EXPECT_OK(proof->kept);
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("damaged at point 'after'")));
  EXPECT_FALSE(b_.Info(image_).primary);
  // It knows that after a restart, too; and a person may decide otherwise.
  Daemon next(world_, pair_, b_);
  EXPECT_THAT(Promote(next),
              StatusIs(kUnavailable, HasSubstr("damaged at point 'after'")));
  world_.ClearCalls();
  EXPECT_OK(Promote(next, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(ProofsRead(), 1);
  // From now on what is here is right, also after the way back.
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
  ASSERT_OK(pool);
  const auto known = ReadProof(**pool, b_.ImageId(image_));
  ASSERT_OK(known);
  EXPECT_EQ(known->point, "");
  ASSERT_OK(Demote(next));
  world_.Advance(minutes(3));
  EXPECT_OK(Promote(next));
}

// Only the row of a planned promotion needs it, and whoever forgets it.
TEST_F(PointsTest, ForceReadsWhatWasFoundOnceWhenItHasPromoted) {
  const std::string whole = id_;
  b_.SetCopySpeed(1);
  const std::string other = "6ef79ce1-81e8-439b-8405-35138edf5b89";
  const std::string image = MirroredPair::ImageOf(other);
  id_ = pair_.AddVolume(a_, other);
  ASSERT_OK(a_.Write(image, 1));
  a_.EnableMirroring(image);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] { return b_.HasImage(image) && !b_.Snapshots(image).empty(); },
      seconds(30)));
  pair_.AddJournal(b_, other);
  LoseA();
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("nothing to promote")));
  EXPECT_EQ(ProofsRead(), 0);
  id_ = whole;
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(ProofsRead(), 1);
}

TEST_F(PointsTest, AVerdictThatCannotBeKeptIsSaid) {
  ASSERT_OK(MakeWhole("first"));
  Fail("rados_write_op_omap_set2", EPERM, 1);
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kWhole);
  EXPECT_THAT(proof->kept, StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(PointsTest, AnObjectWithoutDataIsOneToo) {
  a_.WriteObject(image_, 2, 0);
  ASSERT_OK(Sync());
  ASSERT_OK(MakeWhole("first"));
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kWhole);
  EXPECT_EQ(proof->found.with_data, proof->found.objects - 1);
  EXPECT_EQ(proof->found.bytes_read,
            proof->found.with_data * proof->header.shape.object_bytes);
}

TEST_F(PointsTest, APointThatIsNamedIsAwaited) {
  ASSERT_OK(MakeWhole("first"));
  deadline_ = seconds(10);
  EXPECT_THAT(Prove(on_b_, "second"),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("'second' held is not known here yet"),
                             HasSubstr("only what 'first' did"))));
  deadline_ = minutes(5);
  EXPECT_OK(Prove(on_b_, "first"));
  EXPECT_OK(Prove(on_b_));
  world_.Advance(minutes(1));
  ASSERT_OK(MakeWhole("second"));
  const auto proof = Prove(on_b_, "second");
  ASSERT_OK(proof);
  EXPECT_EQ(proof->header.point, "second");
}

// A forced promotion beside half a point needs what was whole before.
TEST_F(PointsTest, NoneIsMadeBeforeTheOtherSiteIsInStep) {
  b_.SetMirrorDaemon(DaemonState::kDown);
  ASSERT_OK(a_.Write(image_, 9));
  ASSERT_OK(MakeSync(on_a_));
  deadline_ = seconds(30);
  EXPECT_THAT(Make(on_a_, "first"),
              StatusIs(kUnavailable, HasSubstr("site 'site-b' has not told")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_snap_create2"), 0);
  EXPECT_EQ(mutations_begun_, 0);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  deadline_ = minutes(5);
  EXPECT_OK(Make(on_a_, "first"));
}

// The record of a point says nothing of another one of its name.
TEST_F(PointsTest, APointThatWasReplacedByHandIsNotTakenForIt) {
  ASSERT_OK(MakeWhole("first"));
  ASSERT_OK(a_.Write(image_, 9));
  a_.RemoveSnapshot(image_, SnapshotNameOf("first"));
  a_.AddSnapshot(image_, SnapshotNameOf("first"), SnapshotKind::kUser);
  EXPECT_THAT(Prove(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("was removed")));
  EXPECT_FALSE(List(on_a_).front().recorded);
  // It is gone on with, and read anew.
  ASSERT_OK(MakeWhole("first"));
  EXPECT_EQ(Prove(on_a_)->verdict(), Verdict::kWhole);
  EXPECT_EQ(Prove(on_b_)->verdict(), Verdict::kWhole);
}

TEST_F(PointsTest, WhatFailsLeavesNoPointAndIsRepeated) {
  int made = 0;
  world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
    return call == "rbd_mirror_image_create_snapshot2" && ++made == 3 ? ENOSPC
                                                                      : 0;
  });
  EXPECT_THAT(Make(on_a_, "first"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_TRUE(List(on_a_).empty());
  world_.SetCallHook(nullptr);
  ASSERT_OK(Sync());
  world_.AdvanceToSecond(30);
  const auto first = Make(on_a_, "first");
  ASSERT_OK(first);
  // The answer was lost: the same call is about the same point.
  const auto again = Make(on_a_, "first");
  ASSERT_OK(again);
  EXPECT_EQ(again->snapshot, first->snapshot);
  EXPECT_EQ(List(on_a_).size(), 1U);
}

TEST_F(PointsTest, AnOlderComparisonDoesNotHideANewerOne) {
  ASSERT_OK(MakeWhole("first"));
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
  ASSERT_OK(pool);
  KnownProof newer{"second", INT64_MAX, 1, 5, 0};
  ASSERT_OK(WriteProof(**pool, b_.ImageId(image_), newer));
  ASSERT_OK(Prove(on_b_));
  const auto known = ReadProof(**pool, b_.ImageId(image_));
  ASSERT_OK(known);
  EXPECT_EQ(known->point, "second");
  EXPECT_EQ(known->damaged, 5U);
}

TEST_F(PointsTest, BeforeTheCopyIsCompleteItIsNotWhole) {
  const auto made = Make(on_a_, "first");
  ASSERT_OK(made);
  const auto digested = Digest(on_a_, "first");
  ASSERT_OK(digested);
  ASSERT_OK(AwaitSync(on_a_, made->carrier));
  // The record comes with a copy that takes a while.
  b_.SetCopySpeed(1);
  ASSERT_OK(a_.Write(image_, 9));
  ASSERT_OK(Store(on_a_, "first", *digested));
  EXPECT_THAT(Prove(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("point create")))
      << "its metadata come at the end";
  world_.Advance(minutes(2));
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kWhole);
}

TEST_F(PointsTest, AfterAMoveANewPointIsNeeded) {
  ASSERT_OK(MakeWhole("first"));
  a_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
  ASSERT_OK(Sync());
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_b_, Force::kNo));
  // The former primary's prove nothing of this term; a person's stays.
  EXPECT_TRUE(List(on_b_).empty());
  ASSERT_EQ(b_.OtherSnapshots(image_).size(), 1U);
  EXPECT_EQ(b_.OtherSnapshots(image_).front().name, "backup");
  EXPECT_FALSE(b_.ImageMetadata(image_).contains(kPointRecordKey));
  EXPECT_THAT(Prove(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("point create")));
  world_.Advance(minutes(2));
  EXPECT_FALSE(Prove(on_a_).ok());
  world_.AdvanceToSecond(30);
  ASSERT_OK(Make(on_b_, "second"));
}

TEST_F(PointsTest, OneThatCannotBeRemovedKeepsNoSiteDown) {
  ASSERT_OK(MakeWhole("first"));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  Fail("rbd_snap_remove_by_id", EBUSY, 1);
  ASSERT_OK(Promote(on_b_, Force::kNo));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(List(on_b_).size(), 1U);
}

// Of a plan there may be hundreds.
TEST_F(PointsTest, APromotionDoesNotWaitForAllOfThemToGo) {
  for (const std::string name : {"1", "2", "3", "4", "5"}) {
    world_.AdvanceToSecond(30);
    ASSERT_OK(Make(on_a_, name));
    ASSERT_OK(Sync());
  }
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(2));
  world_.SetCallHook(
      [this](absl::string_view site, absl::string_view call, bool) {
        if (site == "b" && call == "rbd_snap_remove_by_id") {
          world_.Advance(seconds(1));
        }
        return 0;
      });
  ASSERT_OK(Promote(on_b_));
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_EQ(List(on_b_).size(), 3U);
}

// Nobody else was primary since it was made.
TEST_F(PointsTest, ADemotionThatIsTakenBackKeepsThem) {
  ASSERT_OK(MakeWhole("first"));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  ASSERT_OK(Promote(on_a_, Force::kNo));
  EXPECT_EQ(List(on_a_).size(), 1U);
  EXPECT_OK(Prove(on_a_));
}

TEST_F(PointsTest, TheFirstMirrorSnapshotsSealWhatWasWhole) {
  const size_t before = a_.Snapshots(image_).size();
  const auto made = Make(on_a_, "first");
  ASSERT_OK(made);
  EXPECT_EQ(world_.CountCalls("a", "rbd_snap_create2"), 1);
  EXPECT_GE(a_.Snapshots(image_).size(), before);
  EXPECT_GT(made->carrier.id, made->snapshot);
  int newer = 0;
  int older = 0;
  for (const MirrorSnapshot& snapshot : a_.Snapshots(image_)) {
    (snapshot.id > made->snapshot ? newer : older) += 1;
  }
  EXPECT_EQ(newer, 1);
  EXPECT_GE(older, 2);
}

TEST_F(PointsTest, OneNameIsOnePoint) {
  ASSERT_OK(MakeWhole("first"));
  EXPECT_THAT(Make(on_a_, "first"), StatusIs(absl::StatusCode::kAlreadyExists,
                                             HasSubstr("remove it first")));
  EXPECT_THAT(Make(on_a_, "a/b"), StatusIs(absl::StatusCode::kInvalidArgument));
  const auto unnamed = Make(on_a_, "");
  ASSERT_OK(unnamed);
  EXPECT_OK(CheckPointName(unnamed->name));
}

// Two daemons may read it; the other site compares with the first one.
TEST_F(PointsTest, ARecordOfTheSamePointStays) {
  ASSERT_OK(MakeWhole("first"));
  const int64_t made = List(on_a_).front().made;
  world_.Advance(minutes(5));
  const auto again = Digest(on_a_, "first");
  ASSERT_OK(again);
  world_.AdvanceToSecond(30);
  const auto stored = Store(on_a_, "first", *again);
  ASSERT_OK(stored);
  EXPECT_OK(AwaitSync(on_a_, *stored));
  EXPECT_EQ(List(on_a_).front().made, made);
  EXPECT_EQ(List(on_b_).front().made, made);
}

TEST_F(PointsTest, OnlyTheNewestIsRecorded) {
  ASSERT_OK(MakeWhole("first"));
  world_.Advance(minutes(1));
  ASSERT_OK(MakeWhole("second"));
  const std::vector<ListedPoint> there = List(on_b_);
  ASSERT_EQ(there.size(), 2U);
  EXPECT_EQ(there[0].name, "first");
  EXPECT_FALSE(there[0].recorded);
  EXPECT_TRUE(there[1].recorded);
  EXPECT_GT(there[1].made, 0);
}

TEST_F(PointsTest, ARemovedPointGoesOnBothSites) {
  ASSERT_OK(MakeWhole("first"));
  EXPECT_THAT(Remove(on_b_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("secondary")));
  const auto removed = Remove(on_a_, "first");
  ASSERT_OK(removed);
  EXPECT_TRUE(*removed);
  EXPECT_TRUE(List(on_a_).empty());
  EXPECT_THAT(Prove(on_a_), StatusIs(kFailedPrecondition));
  world_.AdvanceToSecond(30);
  ASSERT_OK(Sync());
  EXPECT_TRUE(List(on_b_).empty());
  EXPECT_THAT(Prove(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("point create")));
  const auto again = Remove(on_a_, "first");
  ASSERT_OK(again);
  EXPECT_FALSE(*again);
  for (const auto& [key, value] : a_.ImageMetadata(image_)) {
    EXPECT_THAT(key, ::testing::Not(HasSubstr(kPointRecordKey)));
  }
}

TEST_F(PointsTest, WhatCannotHaveAPointSaysWhy) {
  EXPECT_THAT(
      Make(on_b_, "first"),
      StatusIs(kFailedPrecondition, AllOf(HasSubstr("secondary on this site"),
                                          HasSubstr("on site 'site-a'"))));
  EXPECT_THAT(Digest(on_b_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("where it is primary")));
  EXPECT_THAT(Digest(on_a_, "none"),
              StatusIs(kFailedPrecondition, HasSubstr("no point 'none'")));
  EXPECT_THAT(Prove(on_b_),
              StatusIs(kFailedPrecondition, HasSubstr("point create")));
  ASSERT_OK(Disable(on_a_));
  EXPECT_THAT(Make(on_a_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("enable it first")));
  EXPECT_THAT(Prove(on_a_),
              StatusIs(kFailedPrecondition, HasSubstr("enable it first")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_snap_create2"), 0);
}

// ceph-csi does not delete an image that has snapshots.
TEST_F(PointsTest, DisableRemovesThem) {
  a_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
  ASSERT_OK(MakeWhole("first"));
  world_.Advance(minutes(1));
  ASSERT_OK(Disable(on_a_));
  const auto snapshots = a_.OtherSnapshots(image_);
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_EQ(snapshots.front().name, "backup");
  for (const auto& [key, value] : a_.ImageMetadata(image_)) {
    EXPECT_THAT(key, ::testing::Not(HasSubstr(kPointRecordKey)));
  }
}

TEST_F(PointsTest, AtTheLimitOfItsSnapshotsNoneIsMade) {
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size() + 3);
  EXPECT_THAT(Make(on_a_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("rbd snap limit")));
  EXPECT_EQ(mutations_begun_, 0);
}

TEST_F(PointsTest, AFullPoolIsNamed) {
  Fail("rbd_snap_create2", EDQUOT, 100);
  EXPECT_THAT(Make(on_a_, "first"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the pool is full")));
}

// An object that cannot be read is no zero.
TEST_F(PointsTest, WhatCannotBeReadProvesNothing) {
  ASSERT_OK(MakeWhole("first"));
  Fail("rados_read", EIO, 1);
  EXPECT_FALSE(Prove(on_b_).ok());
  const auto proof = Prove(on_b_);
  ASSERT_OK(proof);
  EXPECT_EQ(proof->verdict(), Verdict::kWhole);
}

TEST_F(PointsTest, TheRateIsKept) {
  ASSERT_OK(MakeWhole("first"));
  const auto fast = Prove(on_b_);
  ASSERT_OK(fast);
  deadline_ = minutes(10);
  const auto slow = Prove(on_b_, "", fast->found.bytes_read / 20);
  ASSERT_OK(slow);
  EXPECT_GE(took_, seconds(18));
}

/// Two sites for one run.
class PointsBench final : public PointsTest {
 public:
  PointsBench() { SetUp(); }
  ~PointsBench() override { TearDown(); }
  void TestBody() override {}

  /// Made, read and stored by `daemon`.
  absl::Status MakeOn(Daemon& daemon) {
    const auto made = Make(daemon, "first");
    // It died after what was read was stored, and what carries that is next.
    if (absl::IsAlreadyExists(made.status())) return Sync();
    if (!made.ok()) return made.status();
    const auto digested = Digest(daemon, "first");
    return digested.ok() ? Store(daemon, "first", *digested).status()
                         : digested.status();
  }
  absl::Status RemoveOn(Daemon& daemon) {
    return Remove(daemon, "first").status();
  }
  Daemon& acting() { return on_a_; }

  using PointsTest::a_;
  using PointsTest::image_;
  using PointsTest::List;
  using PointsTest::MakeWhole;
  using PointsTest::on_a_;
  using PointsTest::on_b_;
  using PointsTest::pair_;
  using PointsTest::Prove;
  using PointsTest::Sync;
  using PointsTest::world_;
};

TEST(PointsCrashTest, APointThatWasBegunIsMadeByTheRepeat) {
  DieAtEachChange<PointsBench>(
      &PointsBench::MakeOn, [](PointsBench&) {},
      [](PointsBench& bench, Daemon& next) {
        EXPECT_EQ(bench.List(next).size(), 1U);
        bench.world_.Advance(minutes(2));
        for (Daemon* daemon : {&next, &bench.on_b_}) {
          const auto proof = bench.Prove(*daemon, "first");
          ASSERT_OK(proof);
          EXPECT_EQ(proof->verdict(), Verdict::kWhole);
        }
      });
}

TEST(PointsCrashTest, APointThatWasToGoIsGoneAfterTheRepeat) {
  DieAtEachChange<PointsBench>(
      &PointsBench::RemoveOn,
      [](PointsBench& bench) { ASSERT_OK(bench.MakeWhole("first")); },
      [](PointsBench& bench, Daemon& next) {
        EXPECT_TRUE(bench.List(next).empty());
        EXPECT_FALSE(
            bench.a_.ImageMetadata(bench.image_).contains(kPointRecordKey));
      });
}

}  // namespace
}  // namespace addons::testing
