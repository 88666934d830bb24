// Rollbacks on simulated clusters: a primary gets back what it held at a point,
// and so does its copy.

#include "points/rollback.h"

#include <cerrno>
#include <memory>
#include <string>

#include "replication/look/point.h"
#include "replication/look/rollback_mark.h"
#include "tests/unit/points/points_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RollbackTest : public PointsTest {
 protected:
  /// "first" has 7, "before" has 8, and so has the image on both sites.
  void MakeTwo() {
    ASSERT_OK(Make(on_a_, "first"));
    ASSERT_OK(a_.Write(image_, 8));
    ASSERT_OK(Sync());
    world_.AdvanceToSecond(30);
    ASSERT_OK(Make(on_a_, "before"));
    world_.AdvanceToSecond(30);
  }
  /// One that breaks off when it has written a part.
  void BreakOff() {
    MakeTwo();
    int writes = 0;
    world_.SetCallHook([&](absl::string_view, absl::string_view call, bool) {
      return call == "rbd_aio_write" && ++writes == 2 ? EIO : 0;
    });
    EXPECT_THAT(RollBack(on_a_, "first", "before"), Not(IsOk()));
    world_.SetCallHook(nullptr);
    ASSERT_TRUE(a_.Torn(image_));
    ASSERT_TRUE(Noted(a_));
  }
  bool Noted(FakeSite& site) {
    return site.ImageMetadata(image_).contains(kRollbackKey);
  }
  void Resize(uint64_t bytes) {
    const auto pool =
        pair_.cluster(a_)->OpenPool(pair_.pool_id(a_), "", Access::kMutate);
    ASSERT_OK(pool);
    const auto image = (*pool)->OpenImage(ImageName(image_));
    ASSERT_OK(image);
    ASSERT_OK((*image)->Resize(bytes));
    ASSERT_OK((*image)->Close());
  }
};

TEST_F(RollbackTest, BothSitesHoldThePointAgain) {
  MakeTwo();
  const auto done = RollBack(on_a_, "first", "before");
  ASSERT_OK(done);
  EXPECT_EQ(done->kept, "before");
  EXPECT_FALSE(done->goes_on);
  EXPECT_EQ(done->bytes, kSmallImage);
  EXPECT_GT(done->compared, 0U);
  EXPECT_EQ(done->carrier, Newest(a_).id);
  EXPECT_EQ(a_.Data(image_), 7U);
  EXPECT_FALSE(Noted(a_));
  EXPECT_FALSE(a_.HasLock(image_));
  world_.Advance(minutes(1));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_FALSE(Noted(b_));
  // And back: what it held was kept.
  ASSERT_OK(RollBack(on_a_, "before"));
  world_.Advance(minutes(1));
  EXPECT_EQ(a_.Data(image_), 8U);
  EXPECT_EQ(b_.Data(image_), 8U);
  EXPECT_EQ(List(on_a_).size(), 2U);
}

TEST_F(RollbackTest, WhereNothingDiffersNothingIsChanged) {
  ASSERT_OK(Make(on_a_, "first"));
  world_.ClearCalls();
  const auto done = RollBack(on_a_, "first");
  ASSERT_OK(done);
  EXPECT_EQ(done->compared, 0U);
  EXPECT_EQ(done->carrier, 0U);
  EXPECT_EQ(world_.CountCalls("a", "rbd_aio_write"), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_create_snapshot2"), 0);
}

TEST_F(RollbackTest, ALookChangesNothing) {
  MakeTwo();
  world_.ClearCalls();
  const auto seen = RollBack(on_a_, "first", "", /*only_look=*/true);
  ASSERT_OK(seen);
  EXPECT_EQ(seen->bytes, kSmallImage);
  EXPECT_EQ(world_.CountMutations(), 0);
  EXPECT_EQ(a_.Data(image_), 8U);
}

TEST_F(RollbackTest, WhoHasItOpenKeepsIt) {
  MakeTwo();
  a_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
  for (const bool only_look : {true, false}) {
    EXPECT_THAT(RollBack(on_a_, "first", "before", only_look),
                StatusIs(kFailedPrecondition, HasSubstr("10.0.0.5:0/1")));
  }
  EXPECT_EQ(a_.Data(image_), 8U);
  EXPECT_FALSE(Noted(a_));
  a_.RemoveWatcher(image_, 4711);
  EXPECT_OK(RollBack(on_a_, "first", "before"));
}

TEST_F(RollbackTest, WhatWasWrittenSinceItWasKeptIsNotLost) {
  MakeTwo();
  ASSERT_OK(a_.Write(image_, 9));
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kFailedPrecondition, HasSubstr("begin anew")));
  EXPECT_EQ(a_.Data(image_), 9U);
  EXPECT_FALSE(Noted(a_));
  // Where nobody wants it kept.
  ASSERT_OK(RollBack(on_a_, "first"));
  EXPECT_EQ(a_.Data(image_), 7U);
}

TEST_F(RollbackTest, WhatCannotBeRolledBackSaysWhy) {
  MakeTwo();
  EXPECT_THAT(RollBack(on_a_, "second"),
              StatusIs(kFailedPrecondition, HasSubstr("point list")));
  EXPECT_THAT(RollBack(on_a_, "first", "second"),
              StatusIs(kFailedPrecondition, HasSubstr("'second'")));
  EXPECT_THAT(RollBack(on_a_, "a/b"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RollBack(on_b_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("where it is primary")));
  Resize(kSmallImage / 2);
  EXPECT_THAT(RollBack(on_a_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("rbd resize")));
}

// A filesystem does not know what lies beyond.
TEST_F(RollbackTest, OfAnImageThatHasGrownTheRestStays) {
  MakeTwo();
  Resize(2 * kSmallImage);
  ASSERT_OK(a_.Write(image_, 9));
  const auto done = RollBack(on_a_, "first");
  ASSERT_OK(done);
  EXPECT_EQ(done->bytes, kSmallImage);
  EXPECT_EQ(done->bytes_now, 2 * kSmallImage);
  EXPECT_EQ(a_.Object(image_, 0), 7U);
  EXPECT_EQ(a_.Object(image_, 63), 9U);
}

TEST_F(RollbackTest, WhileItHasNotEndedNobodyTakesWhatItHolds) {
  BreakOff();
  const auto names_both =
      AllOf(HasSubstr("mixture"), HasSubstr("'first'"), HasSubstr("'before'"));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, names_both));
  EXPECT_THAT(Demote(on_a_), StatusIs(kUnavailable, names_both));
  EXPECT_THAT(Disable(on_a_), StatusIs(kUnavailable, names_both));
  EXPECT_THAT(MakeSync(on_a_), StatusIs(kUnavailable, names_both));
  EXPECT_THAT(Make(on_a_, "third"), StatusIs(kUnavailable, names_both));
  for (const char* const needed : {"first", "before"}) {
    EXPECT_THAT(Remove(on_a_, needed), StatusIs(kUnavailable, names_both));
  }
  const auto info = Info(on_a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  EXPECT_THAT(info->message, names_both);
  EXPECT_TRUE(a_.Info(image_).primary);
  // The same call goes on, whatever it says of keeping.
  const auto done = RollBack(on_a_, "first");
  ASSERT_OK(done);
  EXPECT_TRUE(done->goes_on);
  EXPECT_EQ(done->kept, "before");
  EXPECT_EQ(a_.Data(image_), 7U);
  EXPECT_OK(Promote(on_a_));
  EXPECT_OK(Remove(on_a_, "before"));
  EXPECT_OK(Demote(on_a_));
}

TEST_F(RollbackTest, OneThatHasBegunIsTakenBack) {
  BreakOff();
  const auto back = RollBack(on_a_, "before");
  ASSERT_OK(back);
  EXPECT_EQ(a_.Data(image_), 8U);
  EXPECT_FALSE(Noted(a_));
}

TEST_F(RollbackTest, AForcedDisableGivesBothStatesUp) {
  BreakOff();
  ASSERT_OK(Disable(on_a_, {{"force", "true"}}));
  EXPECT_TRUE(a_.OtherSnapshots(image_).empty());
}

// The manager's snapshot has carried the mixture, and the site is lost.
TEST_F(RollbackTest, ItGoesOnWhereTheOtherSiteTakesOver) {
  BreakOff();
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  ASSERT_TRUE(Noted(b_));
  ASSERT_TRUE(b_.Torn(image_));
  LoseA();
  deadline_ = minutes(10);
  // As an image of its own it would lose both points.
  EXPECT_THAT(Disable(on_b_, {{"force", "true"}}),
              StatusIs(kUnavailable, HasSubstr("promote this copy by force")));
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("mixture")));
  ASSERT_TRUE(b_.Info(image_).primary);
  ASSERT_EQ(List(on_b_).size(), 2U) << "both states are needed";
  ASSERT_OK(RollBack(on_b_, "first"));
  EXPECT_EQ(b_.Data(image_), 7U);
  EXPECT_OK(Promote(on_b_, Force::kYes));
}

// Somebody has demoted it with another program.
TEST_F(RollbackTest, AMixtureIsNotMovedToUnforced) {
  BreakOff();
  a_.Demote(image_);
  world_.Advance(minutes(1));
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable, HasSubstr("mixture")));
  EXPECT_FALSE(b_.Info(image_).primary);
  // The way out: where it was, it is primary again, and says so.
  deadline_ = minutes(10);
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("mixture")));
  EXPECT_TRUE(a_.Info(image_).primary);
  EXPECT_OK(RollBack(on_a_, "first"));
}

TEST_F(RollbackTest, APointThatGoesMeanwhileIsNoEnd) {
  MakeTwo();
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       // All was read by then.
                       if (call == "rbd_flush" && !a_.Torn(image_)) {
                         a_.RemoveSnapshot(image_, SnapshotNameOf("first"));
                       }
                       return 0;
                     });
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kUnavailable, HasSubstr("was removed meanwhile")));
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(Noted(a_));
  // Its other state is there.
  EXPECT_THAT(RollBack(on_a_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("image-meta remove")));
  ASSERT_OK(RollBack(on_a_, "before"));
  EXPECT_EQ(a_.Data(image_), 8U);
  EXPECT_FALSE(Noted(a_));
}

TEST_F(RollbackTest, ANoteOfANewerVersionIsLeftAlone) {
  MakeTwo();
  a_.SetImageMetadata(image_, kRollbackKey, "something new");
  EXPECT_THAT(RollBack(on_a_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("newer version")));
  EXPECT_THAT(Demote(on_a_),
              StatusIs(kUnavailable, HasSubstr("newer version")));
  EXPECT_EQ(a_.Data(image_), 8U);
}

// Its metadata came with the clone.
TEST_F(RollbackTest, ANoteOfAnotherImageIsNone) {
  MakeTwo();
  a_.SetImageMetadata(
      image_, kRollbackKey,
      R"({"global_id":"another","image":"another","point":"x","kept":"",)"
      R"("since":"then"})");
  EXPECT_OK(Demote(on_a_));
}

TEST_F(RollbackTest, WithoutAnExclusiveLockItIsRefused) {
  MakeTwo();
  a_.SetFeatures(image_, {});
  EXPECT_THAT(RollBack(on_a_, "first", "before", /*only_look=*/true),
              StatusIs(kFailedPrecondition, HasSubstr("exclusive lock")));
  EXPECT_EQ(a_.Data(image_), 8U);
}

// librbd would wait for it without end.
TEST_F(RollbackTest, ALockTakenByHandIsNamed) {
  MakeTwo();
  a_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
  a_.AddLocker(image_, "10.0.0.5:0/1", 4711, FakeSite::LockKind::kByHand);
  a_.RemoveWatcher(image_, 4711);
  world_.ClearCalls();
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kUnavailable, HasSubstr("rbd lock")));
  EXPECT_EQ(world_.CountCalls("a", "rbd_lock_acquire"), 0);
  EXPECT_FALSE(Noted(a_));
}

// What it has read may be a mixture.
TEST_F(RollbackTest, WhoOpensItMeanwhileKeepsItFromEnding) {
  MakeTwo();
  bool opened = false;
  bool ended = false;
  world_.SetCallHook(nullptr,
                     [&](absl::string_view, absl::string_view call, bool) {
                       ended = ended || (opened && !Noted(a_));
                       if (call == "rbd_flush" && !opened && !a_.Torn(image_)) {
                         opened = true;
                         a_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
                       }
                       return 0;
                     });
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kUnavailable, HasSubstr("10.0.0.5:0/1")));
  world_.SetCallHook(nullptr);
  EXPECT_FALSE(ended) << "the note was away for a moment";
  EXPECT_TRUE(Noted(a_));
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("mixture")));
  a_.RemoveWatcher(image_, 4711);
  ASSERT_OK(RollBack(on_a_, "first", "before"));
  EXPECT_FALSE(Noted(a_));
}

// Between the last look and the end of the note.
TEST_F(RollbackTest, WhoOpensItAtTheVeryEndHasTheNoteSetAgain) {
  MakeTwo();
  int changes = 0;
  world_.SetCallHook(nullptr, [&](absl::string_view, absl::string_view, bool) {
    if (!Noted(a_)) {
      changes += changes == 1 ? 1 : 0;
      if (changes == 2) a_.AddWatcher(image_, "10.0.0.5:0/1", 4711);
    } else if (changes == 0) {
      changes = 1;
    }
    return 0;
  });
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kUnavailable, HasSubstr("10.0.0.5:0/1")));
  world_.SetCallHook(nullptr);
  EXPECT_TRUE(Noted(a_));
}

// A promotion that is half-done, or that nobody was told of, comes first.
TEST_F(RollbackTest, APromotionThatHasNotEndedComesFirst) {
  MakeTwo();
  ASSERT_OK(Demote(on_a_));
  a_.Promote(image_, Force::kNo);
  EXPECT_THAT(RollBack(on_a_, "first"),
              StatusIs(kUnavailable, HasSubstr("promote it again")));
}

// One of the site that was primary before may not be whole here.
TEST_F(RollbackTest, APointOfAnEarlierTermIsNoneToGoBackTo) {
  MakeTwo();
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(1));
  Fail("rbd_snap_remove_by_id", EBUSY, 2);
  ASSERT_OK(Promote(on_b_, Force::kNo));
  world_.SetCallHook(nullptr);
  ASSERT_EQ(List(on_b_).size(), 2U);
  EXPECT_THAT(RollBack(on_b_, "first"),
              StatusIs(kFailedPrecondition, HasSubstr("promoted last")));
}

// Mirror snapshots of the term are dropped after a while.
TEST_F(RollbackTest, APointOfThisTermIsKnownAsOneForGood) {
  MakeTwo();
  for (int i = 0; i < 8; ++i) {
    ASSERT_OK(a_.Write(image_, 10 + i));
    ASSERT_OK(Sync());
    world_.Advance(minutes(1));
    world_.AdvanceToSecond(30);
  }
  ASSERT_GT(a_.Snapshots(image_).front().id, List(on_a_).front().snapshot);
  EXPECT_OK(RollBack(on_a_, "first"));
  EXPECT_EQ(a_.Data(image_), 7U);
}

TEST_F(RollbackTest, WhatWasToGoOnAndHasEndedIsNotBegunAnew) {
  MakeTwo();
  const auto go_on = Called<Rollback>([&](OperationContext& context) {
    return RollBackToPoint(context, on_a_.environment(), on_a_.Target(id_),
                           {"first", "", false, /*only_go_on=*/true});
  });
  EXPECT_THAT(go_on, StatusIs(kFailedPrecondition, HasSubstr("ended")));
  EXPECT_EQ(a_.Data(image_), 8U);
}

TEST_F(RollbackTest, WithoutThePointThatKeepsTheOtherStateItGoesOn) {
  BreakOff();
  a_.RemoveSnapshot(image_, SnapshotNameOf("before"));
  const auto done = RollBack(on_a_, "first", "before");
  ASSERT_OK(done);
  EXPECT_EQ(done->kept, "");
  EXPECT_EQ(a_.Data(image_), 7U);
}

// By hand, with another id of the pair.
TEST_F(RollbackTest, TheNoteOutlivesAnotherEnabling) {
  BreakOff();
  std::string note = a_.ImageMetadata(image_).at(kRollbackKey);
  const size_t at = note.find(a_.Info(image_).global_id);
  ASSERT_NE(at, std::string::npos);
  note.replace(at, a_.Info(image_).global_id.size(), "another");
  a_.SetImageMetadata(image_, kRollbackKey, note);
  EXPECT_THAT(Promote(on_a_), StatusIs(kUnavailable, HasSubstr("mixture")));
}

TEST_F(RollbackTest, WithoutRoomForMirrorSnapshotsNothingIsChanged) {
  MakeTwo();
  a_.SetSnapshotLimit(image_, a_.Snapshots(image_).size() +
                                  a_.OtherSnapshots(image_).size() + 1);
  EXPECT_THAT(RollBack(on_a_, "first", "before"),
              StatusIs(kFailedPrecondition, HasSubstr("a rollback makes")));
  EXPECT_EQ(a_.Data(image_), 8U);
}

/// Two sites for one run.
class RollbackBench final : public RollbackTest {
 public:
  RollbackBench() { SetUp(); }
  ~RollbackBench() override { TearDown(); }
  void TestBody() override {}
  absl::Status RollBackOn(Daemon& daemon) {
    return RollBack(daemon, "first", "before").status();
  }
  Daemon& acting() { return on_a_; }

  using RollbackTest::a_;
  using RollbackTest::b_;
  using RollbackTest::image_;
  using RollbackTest::MakeTwo;
  using RollbackTest::Noted;
  using RollbackTest::on_a_;
  using RollbackTest::pair_;
  using RollbackTest::world_;
};

TEST(RollbackCrashTest, OneThatWasBegunIsEndedByTheRepeat) {
  DieAtEachChange<RollbackBench>(
      &RollbackBench::RollBackOn, [](RollbackBench& bench) { bench.MakeTwo(); },
      [](RollbackBench& bench, Daemon& /*next*/) {
        EXPECT_EQ(bench.a_.Data(bench.image_), 7U);
        EXPECT_FALSE(bench.Noted(bench.a_));
        bench.world_.Advance(minutes(1));
        EXPECT_EQ(bench.b_.Data(bench.image_), 7U);
      });
}

}  // namespace
}  // namespace addons::testing
