// A forced promotion in the middle of a copy: the last complete state comes
// back, whatever happens on the way.

#include "replication/steps/ceph_faults/rescue.h"

#include <atomic>
#include <cerrno>
#include <optional>

#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "inspection/rescue_decision.h"
#include "lease/keeper.h"
#include "replication/steps/ceph_faults/interrupted_copies.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Kind = MirrorSnapshotKind;

std::string NameOfKind(const ::testing::TestParamInfo<Kind>& tested) {
  return tested.param == Kind::kNonPrimary ? "Copy" : "Demotion";
}

/// The last complete state on b holds 1, of which the copy of 2 has overwritten
/// some.
class RescueTest : public VerbsTest,
                   public ::testing::WithParamInterface<Kind> {
 protected:
  explicit RescueTest(MirroredPairOptions options = {}) : VerbsTest(options) {
    AddMirrored(kSmallImage);
    // It is stopped in the middle of the copy.
    on_b_.options().force_without_local_mirror = true;
  }

  void DieMidCopy(Kind kind, DaemonState state = DaemonState::kDown) {
    StopMidCopy(kind, state);
    ASSERT_TRUE(b_.Torn(image_));
    LoseA();
    // As the operator does: by force once it was told that this is right.
    deadline_ = minutes(3);
    ASSERT_THAT(Promote(on_b_),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    deadline_ = minutes(1);
    world_.ClearCalls();
  }
  bool HasRescueImage() {
    return b_.HasImage(RescueImageName(ImageName(image_)).text());
  }
  std::optional<RescueRecord> Record() {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    const auto record = ReadRescueRecord(**pool, ImageName(image_));
    EXPECT_OK(record);
    return *record;
  }
  void ExpectWhole(uint64_t value) {
    EXPECT_TRUE(b_.Info(image_).primary);
    EXPECT_FALSE(b_.Torn(image_));
    EXPECT_EQ(b_.Data(image_), value);
    const MirrorSnapshot newest = Newest(b_);
    EXPECT_EQ(newest.kind, Kind::kPrimary);
    EXPECT_TRUE(newest.complete);
    EXPECT_EQ(b_.SnapshotData(image_, newest.id), value);
    EXPECT_FALSE(HasRescueImage());
  }
  void DieAfterPromotion() {
    world_.SetCallHook(nullptr,
                       [](absl::string_view, absl::string_view made, bool) {
                         if (made == "rbd_mirror_image_promote")
                           throw FakeCrash();
                         return 0;
                       });
    EXPECT_THROW(Promote(on_b_, Force::kYes).IgnoreError(), FakeCrash);
    world_.SetCallHook(nullptr);
    ASSERT_TRUE(b_.Info(image_).primary);
    world_.Advance(minutes(1));  // the dead daemon's watch has expired
  }
  /// The next call of `call` ends the process before it has an effect.
  void DieAt(const std::string& call, int nth = 1) {
    const auto left = std::make_shared<std::atomic<int>>(nth);
    world_.SetCallHook(
        [call, left](absl::string_view, absl::string_view made, bool) {
          if (made == call && --*left == 0) throw FakeCrash();
          return 0;
        });
    try {
      const absl::Status status = Promote(on_b_, Force::kYes);
      ADD_FAILURE() << "survived " << call << ": " << status;
    } catch (const FakeCrash&) {
    }
    world_.SetCallHook(nullptr);
  }
};

TEST_P(RescueTest, BringsTheLastWholeStateBack) {
  DieMidCopy(GetParam());
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
  EXPECT_THAT(steps_, Contains("saving the last complete state"));
  EXPECT_THAT(steps_, Contains("bringing the last complete state back"));
  EXPECT_THAT(progress_, Contains(std::pair(uint64_t{kSmallImage},
                                            uint64_t{kSmallImage})));
}

/// b follows a, which receives nothing.
class OneWayRescueTest : public RescueTest {
 protected:
  OneWayRescueTest() : RescueTest(MirroredPairOptions{.one_way = true}) {}
};

// librbd makes no mirror snapshot where nobody would copy it.
TEST_P(OneWayRescueTest, BringsTheLastWholeStateBack) {
  StopMidCopy(GetParam(), DaemonState::kDown);
  ASSERT_TRUE(b_.Torn(image_));
  LoseA();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_TRUE(b_.Info(image_).primary);
  EXPECT_FALSE(b_.Torn(image_));
  EXPECT_EQ(b_.Data(image_), 1);
  EXPECT_FALSE(HasRescueImage());
}

TEST_P(RescueTest, ZerosAreBroughtBackToo) {
  ASSERT_OK(a_.Write(image_, 0));
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(minutes(1));
  ASSERT_TRUE(pair_.InSync(b_, image_));
  DieMidCopy(GetParam());
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(0);
}

TEST_P(RescueTest, NeedsNoCaller) {
  DieMidCopy(GetParam());
  deadline_ = seconds(5);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, CancelBeforeThePromotionChangesNothing) {
  DieMidCopy(GetParam());
  const auto snapshots = b_.Snapshots(image_).size();
  script_ = [](TestOperationContext& context) {
    context.CancelAfter(std::chrono::milliseconds(100));
  };
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Snapshots(image_).size(), snapshots);
  script_ = nullptr;
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, AFullPoolLeavesEverythingAsItWas) {
  DieMidCopy(GetParam());
  const auto snapshots = b_.Snapshots(image_).size();
  Fail("rbd_aio_write", ENOSPC, 1);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, AllOf(HasSubstr("no space"),
                                           HasSubstr("nothing was changed"))));
  EXPECT_FALSE(HasRescueImage());
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_EQ(b_.Snapshots(image_).size(), snapshots);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, AFullPoolDuringTheWayBackKeepsTheRescueImage) {
  DieMidCopy(GetParam());
  DieAt("rbd_aio_write", 10);  // the second round of the way back
  Fail("rbd_aio_write", ENOSPC, 1);
  EXPECT_THAT(
      Promote(on_b_),
      StatusIs(kUnavailable,
               AllOf(HasSubstr("no space"),
                     HasSubstr(RescueImageName(ImageName(image_)).text()))));
  EXPECT_TRUE(HasRescueImage());
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_P(RescueTest, WhatIsPromotedAlreadyIsNotTakenForWhole) {
  DieMidCopy(GetParam());
  DieAt("rbd_aio_write", 9);  // 8 rounds save
  ASSERT_TRUE(b_.Info(image_).primary);
  ASSERT_EQ(Record()->step, RescueStep::kPromoting);

  const auto info = Info(on_b_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  EXPECT_THAT(info->message,
              HasSubstr(RescueImageName(ImageName(image_)).text()));
  EXPECT_THAT(info->upkeep, IsEmpty()) << "notes wait until it is whole";
  EXPECT_THAT(Demote(on_b_), StatusIs(kUnavailable, HasSubstr("half-done")));
  EXPECT_THAT(Disable(on_b_), StatusIs(kUnavailable, HasSubstr("half-done")));
  EXPECT_THAT(Resync(on_b_, Force::kYes),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(b_.Info(image_).primary);

  // Also when nobody asks for force any more.
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
  EXPECT_OK(Promote(on_b_));
  const auto restored = Info(on_b_);
  ASSERT_OK(restored);
  EXPECT_EQ(restored->health, ReplicationHealth::kDegraded);
}

TEST_P(RescueTest, NothingIsWrittenUnderAWorkload) {
  DieMidCopy(GetParam());
  DieAt("rbd_mirror_image_create_snapshot2");
  b_.AddWatcher(image_, "10.0.0.9:0/1", 9001);
  world_.Advance(minutes(1));  // the dead daemon's watch has expired
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable, HasSubstr("client.9001")));
  EXPECT_EQ(world_.CountCalls("b", "rbd_aio_write"), 0);
  b_.RemoveWatcher(image_, 9001);
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_P(RescueTest, AWorkloadThatReadHalfOfItIsNotLeftWithThat) {
  DieMidCopy(GetParam());
  script_ = [this](TestOperationContext& context) {
    context.OnStep([this](absl::string_view step) {
      if (step != "bringing the last complete state back") return;
      b_.AddWatcher(image_, "10.0.0.9:0/1", 9001);
    });
  };
  deadline_ = minutes(3);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("client.9001")));
  EXPECT_TRUE(HasRescueImage());
  script_ = nullptr;
  b_.RemoveWatcher(image_, 9001);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, AWorkloadThatGoesIsAwaited) {
  DieMidCopy(GetParam());
  DieAt("rbd_mirror_image_create_snapshot2");
  world_.Advance(minutes(1));  // the dead daemon's watch has expired
  b_.AddWatcher(image_, "10.0.0.9:0/1", 9001);
  world_.Schedule(seconds(20), [this] { b_.RemoveWatcher(image_, 9001); });
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

// The peer must not go on from half a demotion as if it were the whole one.
TEST_P(RescueTest, ThePeerThatComesBackIsResynced) {
  DieMidCopy(GetParam());
  ASSERT_OK(Promote(on_b_, Force::kYes));
  ASSERT_OK(b_.Write(image_, 5));
  a_.SetClusterUp(true);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  world_.Advance(minutes(1));
  ASSERT_OK(Demote(on_a_));
  world_.Advance(minutes(2));
  const std::string old_id = a_.ImageId(image_);
  absl::StatusOr<ResyncResult> answer = absl::UnknownError("not called");
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        answer = Resync(on_a_, Force::kYes);
        return answer.ok() && answer->ready;
      },
      minutes(10)));
  EXPECT_NE(a_.ImageId(image_), old_id);
  b_.CreateMirrorSnapshot(image_);
  ASSERT_TRUE(
      world_.AdvanceUntil([&] { return a_.Data(image_) == 5U; }, minutes(3)));
  EXPECT_FALSE(a_.Torn(image_));
}

TEST_P(RescueTest, ForcedDisableDoesNotDestroyTheSavedState) {
  DieMidCopy(GetParam());
  DieAt("rbd_mirror_image_promote");
  EXPECT_THAT(Disable(on_b_, {{"force", "true"}}),
              StatusIs(kUnavailable,
                       HasSubstr(RescueImageName(ImageName(image_)).text())));
  EXPECT_EQ(b_.Info(image_).state, MirrorImageState::kEnabled);
  EXPECT_TRUE(HasRescueImage());
}

TEST_P(RescueTest, ASecondProcessWaitsForTheFirst) {
  DieMidCopy(GetParam());
  DieAt("rbd_aio_write", 3);
  // As if the first one lived.
  const std::string rescue_image = RescueImageName(ImageName(image_)).text();
  world_.Advance(minutes(1));
  b_.AddWatcher(rescue_image, "10.0.0.9:0/1", 9001);
  b_.AddLocker(rescue_image, "10.0.0.9:0/1", 9001,
               FakeSite::LockKind::kExplicit);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("another process")));
  EXPECT_FALSE(b_.Info(image_).primary);
  b_.RemoveLocker(rescue_image);
  b_.RemoveWatcher(rescue_image, 9001);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, OnlySomeRescuesRunAtATime) {
  DieMidCopy(GetParam());
  std::vector<Slots::Slot> taken;
  while (auto slot = on_b_.environment().rescue_slots.TryTake()) {
    taken.push_back(std::move(slot));
  }
  EXPECT_EQ(taken.size(), 4U);
  world_.Schedule(seconds(20), [&] { taken.clear(); });
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_GE(took_, seconds(20));
  ExpectWhole(1);
}

// It died inside librbd, which marks the image as writable last.
TEST_P(RescueTest, APrimaryThatRefusesWritesIsMadeWritableAndGoesOn) {
  DieMidCopy(GetParam());
  DieAfterPromotion();
  b_.RefuseWrites(image_);
  EXPECT_OK(Promote(on_b_));
  EXPECT_THAT(steps_,
              Contains("making a primary writable that refuses writes"));
  ExpectWhole(1);
}

TEST_P(RescueTest, ADaemonThatDiesWhenItMakesItWritableIsGoneOnFrom) {
  DieMidCopy(GetParam());
  DieAfterPromotion();
  b_.RefuseWrites(image_);
  for (const char* const call : {"rbd.set_features", "rbd_aio_write"}) {
    DieAt(call, 1);
  }
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(RescueTest, WhatWasWrittenAfterItWasMadeWritableIsNotOverwritten) {
  DieMidCopy(GetParam());
  DieAfterPromotion();
  b_.RefuseWrites(image_);
  DieAt("rbd_aio_write");
  ASSERT_OK(b_.Write(image_, 77));
  world_.Advance(minutes(1));
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr("written to since")));
  EXPECT_EQ(b_.Data(image_), 77U);
}

INSTANTIATE_TEST_SUITE_P(Copy, OneWayRescueTest,
                         ::testing::Values(Kind::kNonPrimary));
INSTANTIATE_TEST_SUITE_P(Kinds, RescueTest,
                         ::testing::Values(Kind::kNonPrimary,
                                           Kind::kNonPrimaryDemoted),
                         NameOfKind);

using HalfDemotionTest = RescueTest;

// Of an ordinary copy librbd itself waits for rbd-mirror to let go:
// DisasterTest.
TEST_F(HalfDemotionTest, RbdMirrorThatHangsIsEvicted) {
  DieMidCopy(Kind::kNonPrimaryDemoted, DaemonState::kRunning);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

using LivingPeerTest = RescueTest;

TEST_F(LivingPeerTest, ACopyThatGoesOnIsEnded) {
  StopMidCopy(Kind::kNonPrimary, DaemonState::kDown);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetCopySpeed(0.5);
  world_.Advance(seconds(10));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
  EXPECT_EQ(on_b_.environment().evictions.count(), 1U);
}

TEST_F(LivingPeerTest, RbdMirrorThatComesBackDuringTheSaveIsSentAwayAgain) {
  StopMidCopy(Kind::kNonPrimary, DaemonState::kRunning);
  script_ = [this](TestOperationContext& context) {
    context.OnStep([this](absl::string_view step) {
      if (step != "saving the last complete state") return;
      b_.SetMirrorDaemon(DaemonState::kDown);
      b_.ReconnectMirrorDaemon();
      b_.SetMirrorDaemon(DaemonState::kRunning);
    });
  };
  deadline_ = minutes(3);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
  EXPECT_GE(on_b_.environment().evictions.count(), 2U);
}

/// A snapshot of a user came with the copy that is interrupted: on b is 5, and
/// what is left complete is 1, which the snapshot of that copy reads as.
class UserSnapshotTest : public RescueTest {
 protected:
  void DieBesideSnapshot(Kind kind) {
    ASSERT_OK(a_.Write(image_, 5));
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
    ASSERT_TRUE(pair_.InSync(b_, image_));
    b_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
    DieMidCopy(kind);
  }
  ImageHeader Header() {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kRead);
    auto header = (*pool)->Header(b_.ImageId(image_));
    EXPECT_OK(header);
    return *std::move(header);
  }
  MirrorSnapshot Copied() {
    for (const MirrorSnapshot& snapshot : Header().mirror_snapshots) {
      if (snapshot.id == Record()->snapshot_id) return snapshot;
    }
    return MirrorSnapshot();
  }
};

TEST_P(UserSnapshotTest, ReturnsToWhatWasHereBefore) {
  DieBesideSnapshot(GetParam());
  EXPECT_THAT(Promote(on_b_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("what this site held before its last complete "
                                 "copy, which arrived at ")));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
  EXPECT_THAT(Header().other_snapshots, IsEmpty());
  EXPECT_THAT(steps_, Contains("noting the interrupted copy as complete"));
}

// The daemon died right before librbd's promotion. Nobody takes the copy for
// complete, and an rbd-mirror that comes back goes on with it.
TEST_P(UserSnapshotTest, WhatADeathLeftNotedAsCompleteIsIncomplete) {
  DieBesideSnapshot(GetParam());
  const uint64_t copied = Newest(b_).last_copied_object;
  DieAt("rbd_mirror_image_promote");
  ASSERT_EQ(Record()->step, RescueStep::kMarked);
  ASSERT_TRUE(Copied().complete);
  const uint64_t marked = Copied().last_copied_object;
  world_.Advance(minutes(1));  // the dead daemon's watches have expired
  EXPECT_THAT(Promote(on_b_),
              StatusIs(kUnavailable, HasSubstr(" of 32 objects copied")));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_OK(
      RewindInterruptedCopies(*pair_.cluster(b_), pair_.pool_id(b_), "", 4));
  EXPECT_FALSE(Copied().complete);
  EXPECT_LE(Copied().last_copied_object, copied);
  // While it was noted so, nobody set it back by the object that rbd-mirror
  // would leave out.
  EXPECT_EQ(Copied().last_copied_object, marked - 1);
  // What becomes complete now is no copy of a marked one.
  EXPECT_EQ(Record()->step, RescueStep::kSaved);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
}

TEST_P(UserSnapshotTest, APromotionThatIsRefusedTakesTheNoteBack) {
  DieBesideSnapshot(GetParam());
  const MirrorSnapshot before = Newest(b_);
  Fail("rbd_mirror_image_promote", EBUSY, 1000);
  EXPECT_THAT(Promote(on_b_, Force::kYes), StatusIs(kUnavailable));
  EXPECT_EQ(Record()->step, RescueStep::kSaved);
  EXPECT_EQ(Copied().id, before.id);
  EXPECT_FALSE(Copied().complete);
  EXPECT_LT(Copied().last_copied_object, before.last_copied_object);
}

TEST_P(UserSnapshotTest, AHalfSnapshotThatIsBusyForAMomentGoes) {
  DieBesideSnapshot(GetParam());
  // The promotion itself removes the copy of an ordinary snapshot.
  const int of_user = GetParam() == Kind::kNonPrimary ? 1 : 2;
  const auto calls = std::make_shared<std::atomic<int>>(0);
  world_.SetCallHook([calls, of_user](absl::string_view, absl::string_view made,
                                      bool) {
    return made == "rbd_snap_remove_by_id" && ++*calls == of_user ? EBUSY : 0;
  });
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(*calls, of_user + 1);
  EXPECT_THAT(Header().other_snapshots, IsEmpty());
}

TEST_P(UserSnapshotTest, WhoWorksOnItIsLeftAlone) {
  DieBesideSnapshot(GetParam());
  DieAt("rbd_mirror_image_promote");
  EXPECT_THAT(
      RewindInterruptedCopies(*pair_.cluster(b_), pair_.pool_id(b_), "", 4),
      StatusIs(kUnavailable, HasSubstr("is being promoted by force")));
  EXPECT_TRUE(Copied().complete);
}

TEST_P(UserSnapshotTest, ADeathAfterThePromotionIsFinished) {
  DieBesideSnapshot(GetParam());
  DieAfterPromotion();
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
  EXPECT_THAT(Header().other_snapshots, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, UserSnapshotTest,
                         ::testing::Values(Kind::kNonPrimary,
                                           Kind::kNonPrimaryDemoted),
                         NameOfKind);

/// A forced promotion died when it had noted half a copy as complete, because
/// a snapshot of a user came with it; both sites live.
class MarkedCopyTest : public RescueTest {
 protected:
  void SetUp() override {
    ASSERT_OK(a_.Write(image_, 5));
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(minutes(1));
    ASSERT_TRUE(pair_.InSync(b_, image_));
    b_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
    StopMidCopy(Kind::kNonPrimary, DaemonState::kDown);
  }
  void DieMarked() {
    DieAt("rbd_mirror_image_promote");
    ASSERT_EQ(Record()->step, RescueStep::kMarked);
    ASSERT_TRUE(Newest(b_).complete);
    world_.Advance(minutes(1));  // the dead daemon's watches have expired
  }
  void StartMirror() {
    b_.ReconnectMirrorDaemon();
    b_.SetMirrorDaemon(DaemonState::kRunning);
    world_.Advance(minutes(2));
  }
};

TEST_F(MarkedCopyTest, ItIsNotInStep) {
  DieMarked();
  b_.SetCopySpeed(0);
  StartMirror();
  const auto resync = Resync(on_b_, Force::kNo);
  EXPECT_THAT(resync.status(),
              StatusIs(kUnavailable, HasSubstr("noted as complete")));
  EXPECT_EQ(Record()->step, RescueStep::kMarked);
  const auto info = Info(on_b_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  EXPECT_THAT(info->message, Not(HasSubstr("in step")));
}

// Everything looks well: the newest copy is complete and rbd-mirror idle.
TEST_F(MarkedCopyTest, WhatWentOnFromItIsMadeAnew) {
  DieMarked();
  ASSERT_OK(a_.Write(image_, 7));
  a_.CreateMirrorSnapshot(image_);
  b_.SetCopySpeed(1000);
  StartMirror();
  ASSERT_TRUE(Newest(b_).complete);
  ASSERT_GT(Newest(b_).id, Record()->snapshot_id);
  constexpr char kGone[] = "nothing on this site is complete any more";
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr(kGone)));
  const auto info = Info(on_b_);
  ASSERT_OK(info);
  EXPECT_EQ(info->health, ReplicationHealth::kError);
  EXPECT_THAT(info->message, HasSubstr(kGone));
  EXPECT_THAT(info->message, Not(HasSubstr("in step")));
  EXPECT_THAT(
      Resync(on_b_, Force::kNo).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(kGone)));
  EXPECT_TRUE(HasRescueImage());
  const auto resync = Resync(on_b_, Force::kYes);
  ASSERT_OK(resync);
  EXPECT_FALSE(resync->ready);
  world_.Advance(minutes(3));
  const auto ready = Resync(on_b_, Force::kYes);
  ASSERT_OK(ready);
  EXPECT_TRUE(ready->ready) << ready->message;
  EXPECT_FALSE(HasRescueImage());
  EXPECT_EQ(b_.Data(image_), 7);
  EXPECT_FALSE(b_.Torn(image_));
}

// It would take the copy for complete.
TEST_F(MarkedCopyTest, NothingIsNotedOnceRbdMirrorIsBack) {
  std::vector<uint64_t> noted_at;
  bool back = false;
  script_ = [&](TestOperationContext& context) {
    context.OnStep([&](absl::string_view step) {
      if (step == "promoting by force" && !std::exchange(back, true)) {
        b_.ReconnectMirrorDaemon();
        b_.SetMirrorDaemon(DaemonState::kRunning);
      }
      if (step == "noting the interrupted copy as complete") {
        noted_at.push_back(on_b_.environment().evictions.count());
      }
    });
  };
  deadline_ = minutes(3);
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ASSERT_FALSE(noted_at.empty());
  EXPECT_GE(noted_at.front(), 2U) << "after it was sent away once more";
  ExpectWhole(1);
}

// A first copy has nothing before it.
TEST_F(LivingPeerTest, ASnapshotOfAUserInTheSecondCopyLeavesNothingComplete) {
  b_.AddSnapshot(image_, "backup", SnapshotKind::kUser);
  StopMidCopy(Kind::kNonPrimary, DaemonState::kDown);
  LoseA();
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable, HasSubstr("this site held nothing")));
  EXPECT_FALSE(b_.Info(image_).primary);
  EXPECT_FALSE(HasRescueImage());
  EXPECT_FALSE(Newest(b_).complete);
  // Until the other site is known to be dead.
  deadline_ = minutes(4);
  Promote(on_b_).IgnoreError();
  EXPECT_THAT(Disable(on_b_, {{"force", "true"}}),
              StatusIs(kUnavailable, HasSubstr("'backup'")));
}

/// The daemon has died on the way back, and somebody has used the image.
class WrittenSinceTest : public RescueTest {
 protected:
  void DieOnTheWayBack() {
    DieMidCopy(Kind::kNonPrimary);
    DieAt("rbd_aio_write", 10);  // 8 rounds save; one has brought back
    ASSERT_TRUE(b_.Info(image_).primary);
    world_.Advance(minutes(1));
  }
  void ExpectRefusal() {
    EXPECT_THAT(Promote(on_b_),
                StatusIs(kUnavailable, HasSubstr("written to since")));
    EXPECT_EQ(Record()->step, RescueStep::kWritten);
    const auto info = Info(on_b_);
    ASSERT_OK(info);
    EXPECT_EQ(info->health, ReplicationHealth::kError);
    EXPECT_THAT(info->message,
                HasSubstr("`rbd-addons rescue replicapool/csi-vol"));
    EXPECT_THAT(Demote(on_b_),
                StatusIs(kUnavailable, HasSubstr("written to since")));
    EXPECT_THAT(Promote(on_b_, Force::kYes),
                StatusIs(kUnavailable, HasSubstr("written to since")));
  }
  absl::StatusOr<RescueReport> Decide(RescueChoice choice) {
    absl::StatusOr<RescueReport> report = absl::UnknownError("not called");
    const absl::Status status = Run([&](OperationContext& context) {
      report =
          DecideRescue(context, on_b_.environment(), on_b_.Target(id_), choice);
      return report.status();
    });
    if (!status.ok()) return status;
    return report;
  }
  absl::StatusOr<RescueReport> Show() {
    return ShowRescue(on_b_.environment(), on_b_.Target(id_),
                      RealClock().Now() + minutes(1));
  }
};

// Its watch lives for 30 s, and says nothing of a workload.
TEST_F(WrittenSinceTest, ADaemonThatDiedIsNoWorkload) {
  DieOnTheWayBack();
  LeaseOptions options;
  options.self.pid = 1 << 23;  // no pid is so large
  LeaseKeeper dead(world_, options);
  ResolvedVolume volume;
  volume.cluster = FakeClusterProvider(world_).Get(b_);
  volume.pool_id = pair_.pool_id(b_);
  volume.pool_name = MirroredPair::kPool;
  volume.uuid = kUuid;
  const auto outcome = dead.TryTake(LeaseOf(volume), "promote");
  ASSERT_OK(outcome);
  ASSERT_NE(outcome->lease, nullptr);
  const auto pool = *volume.OpenPool(Access::kMutate);
  const auto image = *pool->OpenImage(ImageName(image_));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_LT(took_, seconds(10));
  EXPECT_THAT(steps_, Not(Contains("waiting until nobody has the image open")));
  ExpectWhole(1);
  EXPECT_OK(image->Close());
}

TEST_F(WrittenSinceTest, AWorkloadIsWaitedForAndNamed) {
  DieOnTheWayBack();
  b_.AddWatcher(image_, "10.0.0.7:0/1", 9999);
  EXPECT_THAT(Promote(on_b_, Force::kYes),
              StatusIs(kUnavailable,
                       AllOf(HasSubstr("in use by"), HasSubstr("10.0.0.7"))));
}

TEST_F(WrittenSinceTest, IsNotOverwritten) {
  DieOnTheWayBack();
  ASSERT_OK(b_.Write(image_, 77));
  ExpectRefusal();
  EXPECT_EQ(b_.Data(image_), 77U);
}

TEST_F(WrittenSinceTest, IsKeptWhenAnAdministratorWantsThat) {
  DieOnTheWayBack();
  ASSERT_OK(b_.Write(image_, 77));
  ExpectRefusal();
  const auto decided = Decide(RescueChoice::kKeep);
  ASSERT_OK(decided);
  EXPECT_TRUE(decided->undecided);
  EXPECT_EQ(decided->decision, "keep");
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 77U);
  EXPECT_FALSE(HasRescueImage());
}

TEST_F(WrittenSinceTest, IsOverwrittenWhenAnAdministratorWantsThat) {
  DieOnTheWayBack();
  ASSERT_OK(b_.Write(image_, 77));
  ExpectRefusal();
  ASSERT_OK(Decide(RescueChoice::kKeep));
  const auto decided = Decide(RescueChoice::kRestore);  // a second thought
  ASSERT_OK(decided);
  EXPECT_EQ(decided->decision, "restore");
  EXPECT_THAT(decided->message, HasSubstr("the next promotion"));
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(WrittenSinceTest, WhatIsToBeDecidedIsShown) {
  DieOnTheWayBack();
  ASSERT_OK(b_.Write(image_, 77));
  ExpectRefusal();
  world_.ClearCalls();
  const auto shown = Show();
  ASSERT_OK(shown);
  EXPECT_EQ(shown->rescue_image, "replicapool/rbd-addons-rescue." + image_);
  EXPECT_EQ(shown->step, "written since");
  EXPECT_GT(shown->bytes, 0U);
  EXPECT_TRUE(shown->undecided);
  EXPECT_EQ(shown->decision, "");
  EXPECT_THAT(shown->message, HasSubstr("--restore"));
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(WrittenSinceTest, NothingIsDecidedBeforeItIsKnownThatItHasToBe) {
  EXPECT_THAT(Decide(RescueChoice::kKeep),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no rescue image")));
  EXPECT_EQ(Show()->rescue_image, "");
  DieOnTheWayBack();
  EXPECT_THAT(Decide(RescueChoice::kKeep),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'promoting'")));
  const auto shown = Show();
  ASSERT_OK(shown);
  EXPECT_FALSE(shown->undecided);
  EXPECT_THAT(shown->message, HasSubstr("half-done"));
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(WrittenSinceTest, ALaterSnapshotCountsAsWritten) {
  DieOnTheWayBack();
  ASSERT_OK(b_.Write(image_, 77));
  b_.CreateMirrorSnapshot(image_);
  ExpectRefusal();
  EXPECT_EQ(b_.Data(image_), 77U);
}

TEST_F(WrittenSinceTest, TheRescueItselfDoesNotCount) {
  DieOnTheWayBack();
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(LivingPeerTest, ACopyThatGoesOnAfterTheSaveIsTakenInstead) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_mirror_image_promote");
  ASSERT_EQ(Record()->step, RescueStep::kPromoting);
  a_.SetClusterUp(true);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(3)));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(2);
}

// rbd-mirror alone leaves one object out when it goes on.
TEST_F(LivingPeerTest, CopiesOfOtherVolumesGoOnWhereTheyEnded) {
  constexpr char kUuid[] = "11111111-2222-3333-4444-555555555555";
  pair_.AddMirroredVolume(a_, kUuid, kSmallImage);
  const std::string other_image = MirroredPair::ImageOf(kUuid);
  world_.Advance(seconds(40));
  b_.SetCopySpeed(4);
  ASSERT_OK(a_.Write(other_image, 7));
  a_.CreateMirrorSnapshot(other_image);
  ASSERT_OK(a_.Write(image_, 2));
  a_.CreateMirrorSnapshot(image_);
  world_.Advance(seconds(4));
  ASSERT_TRUE(b_.Torn(other_image));
  EXPECT_OK(Promote(on_b_, Force::kYes));
  ExpectWhole(1);
  b_.SetCopySpeed(1000);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, other_image); },
                                  minutes(5)));
  EXPECT_FALSE(b_.Torn(other_image));
  EXPECT_EQ(b_.Data(other_image), 7U);
}

TEST_F(LivingPeerTest, AStateThatWasSavedForNothingGoesWithTheNextResync) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_mirror_image_promote");
  a_.SetClusterUp(true);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(3)));
  world_.Advance(minutes(1));
  const auto answer = Resync(on_b_);
  ASSERT_OK(answer);
  EXPECT_TRUE(answer->ready) << answer->message;
  EXPECT_FALSE(HasRescueImage());
  EXPECT_FALSE(b_.Torn(image_));
}

TEST_F(LivingPeerTest, AnotherPromotionMakesTheSavedStateObsolete) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_mirror_image_promote");
  // An administrator takes another way.
  a_.SetClusterUp(true);
  b_.SetMirrorDaemon(DaemonState::kRunning);
  ASSERT_TRUE(world_.AdvanceUntil([&] { return pair_.InSync(b_, image_); },
                                  minutes(3)));
  a_.Demote(image_);
  ASSERT_OK(Promote(on_b_));
  EXPECT_FALSE(HasRescueImage());
  ASSERT_OK(b_.Write(image_, 9));
  EXPECT_OK(Promote(on_b_));
  EXPECT_EQ(b_.Data(image_), 9U);
}

/// A record in a form that this version does not write.
class NewerRecordTest : public RescueTest {
 protected:
  static constexpr char kKey[] = "rbd-addons.rescue";

  std::unique_ptr<Image> OpenRescueImage() {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
    auto image = (*pool)->OpenImage(RescueImageName(ImageName(image_)));
    EXPECT_OK(image);
    return *std::move(image);
  }
  void SetRecord(const std::string& text) {
    const auto image = OpenRescueImage();
    ASSERT_OK(image->SetMetadata(kKey, text));
    ASSERT_OK(image->Close());
  }
  void ExpectLeftAlone(const std::string& text) {
    ASSERT_TRUE(HasRescueImage()) << text;
    const auto image = OpenRescueImage();
    EXPECT_EQ(*image->Metadata(kKey), text);
    ASSERT_OK(image->Close());
  }
  /// Whatever is asked.
  void ExpectNobodyTouchesIt(const std::string& text) {
    SCOPED_TRACE(text);
    const bool primary = b_.Info(image_).primary;
    const auto newer =
        StatusIs(kUnavailable, HasSubstr("made by a newer version"));
    SetRecord(text);
    world_.ClearCalls();
    for (const Force force : {Force::kNo, Force::kYes}) {
      EXPECT_THAT(Promote(on_b_, force), newer);
      EXPECT_FALSE(Resync(on_b_, force).ok());
    }
    EXPECT_THAT(Demote(on_b_), newer);
    for (const ParameterMap& parameters :
         {ParameterMap{}, ParameterMap{{"force", "true"}}}) {
      EXPECT_FALSE(Disable(on_b_, parameters).ok());
    }
    EXPECT_THAT(Info(on_b_).status(), newer);
    const auto shown = ShowRescue(on_b_.environment(), on_b_.Target(id_),
                                  RealClock().Now() + minutes(1));
    EXPECT_THAT(shown.status(), newer);
    for (const RescueChoice choice :
         {RescueChoice::kKeep, RescueChoice::kRestore}) {
      EXPECT_THAT(Run([&](OperationContext& context) {
                    return DecideRescue(context, on_b_.environment(),
                                        on_b_.Target(id_), choice)
                        .status();
                  }),
                  newer);
    }
    EXPECT_EQ(world_.CountCalls("b", "rbd_remove"), 0);
    EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 0);
    EXPECT_EQ(world_.CountCalls("b", "rbd_aio_write"), 0);
    EXPECT_EQ(b_.Info(image_).primary, primary);
    ExpectLeftAlone(text);
  }
  std::string Written() {
    const auto image = OpenRescueImage();
    const auto text = image->Metadata(kKey);
    EXPECT_OK(image->Close());
    return **text;
  }
  void ExpectNobodyTouchesAnyForm() {
    const std::string written = Written();
    const auto with = [&](const std::string& from, const std::string& to) {
      const size_t at = written.find(from);
      EXPECT_NE(at, std::string::npos) << from << " in " << written;
      return written.substr(0, at) + to + written.substr(at + from.size());
    };
    for (const std::string& text :
         {with("\"promoting\"", "\"halfway\""), with("\"promoting\"", "7"),
          with("\"step\"", "\"stage\""), with("\"bytes\":", "\"bytes\":-"),
          with("\"snapshot_id\"", "\"snapshots\""),
          with("\"image_id\"", "\"image\""),
          with("\"ranges_values\"", "\"ranges\""),
          with("\"promotion_snapshot_id\":", "\"promotion_snapshot_id\":-1"),
          std::string("2;promoting"), std::string()}) {
      ExpectNobodyTouchesIt(text);
    }
    SetRecord(written);
    EXPECT_OK(Promote(on_b_, Force::kYes));
    ExpectWhole(1);
  }
};

TEST_F(NewerRecordTest, IsLeftAloneBeforeThePromotion) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_mirror_image_promote");
  world_.Advance(minutes(1));
  ExpectNobodyTouchesAnyForm();
}

TEST_F(NewerRecordTest, IsLeftAloneOnThePrimary) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_aio_write", 10);
  ASSERT_TRUE(b_.Info(image_).primary);
  world_.Advance(minutes(1));
  ExpectNobodyTouchesAnyForm();
}

// An older version did not write all of it.
TEST_F(NewerRecordTest, WhatIsMissingFromAnOlderVersionIsNotMissed) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_aio_write", 10);
  world_.Advance(minutes(1));
  std::string text = Written();
  const size_t at = text.find("\"promotion_snapshot_id\":");
  ASSERT_NE(at, std::string::npos) << text;
  SetRecord(text.erase(at, text.find(',', at) + 1 - at));
  EXPECT_OK(Promote(on_b_));
  ExpectWhole(1);
}

TEST_F(NewerRecordTest, ADecisionOfANewerVersionIsNone) {
  DieMidCopy(Kind::kNonPrimary);
  DieAt("rbd_aio_write", 10);
  world_.Advance(minutes(1));
  const auto image = OpenRescueImage();
  ASSERT_OK(image->SetMetadata(kRescueDecision, "merge"));
  ASSERT_OK(image->Close());
  world_.ClearCalls();
  EXPECT_THAT(Promote(on_b_), StatusIs(kUnavailable, HasSubstr("merge")));
  EXPECT_EQ(world_.CountCalls("b", "rbd_aio_write"), 0);
  EXPECT_TRUE(HasRescueImage());
}

}  // namespace
}  // namespace addons::testing
