// A copy that ended before rbd-mirror had noted an object, on simulated
// clusters.

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>

#include "replication/steps/ceph_faults/begun_copy.h"
#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;

constexpr uint64_t kWhole = 7;
constexpr uint64_t kNext = 8;

class CopyBeginningTest : public VerbsTest {
 protected:
  void SetUp() override {
    AddMirrored(kSmallImage);
    other_ =
        pair_.AddMirroredVolume(a_, "0b2a2f64-3c6d-4e8e-9a3b-6f7f8c9d0e1f");
    ASSERT_OK(a_.Write(image_, kWhole));
    a_.CreateMirrorSnapshot(image_);
    ASSERT_TRUE(world_.AdvanceUntil(
        [&] { return b_.Data(image_) == kWhole && Newest(b_).complete; },
        minutes(2)));
    // One object in ten seconds: it is written, and not noted.
    b_.SetCopySpeed(0.1);
    ASSERT_OK(a_.Write(image_, kNext));
    a_.CreateMirrorSnapshot(image_);
    ASSERT_TRUE(
        world_.AdvanceUntil([&] { return b_.Torn(image_); }, minutes(1)));
    ASSERT_FALSE(Newest(b_).complete);
    ASSERT_EQ(Newest(b_).last_copied_object, 0U);
  }
  /// So that nobody has the image open any more.
  void MirrorGoes() {
    b_.SetMirrorDaemon(DaemonState::kDown);
    world_.Advance(minutes(1));
  }
  absl::StatusOr<uint64_t> PutBack() {
    return UndoBegunCopy(*pair_.cluster(b_), pair_.pool_id(b_), "",
                         b_.ImageId(image_), Newest(b_).id);
  }
  /// Before the n-th of these calls on b.
  void Before(const std::string& call, int n,
              const std::function<void()>& action) {
    const auto left = std::make_shared<std::atomic<int>>(n);
    world_.SetCallHook([=](absl::string_view, absl::string_view made, bool) {
      if (made == call && --*left == 0) action();
      return 0;
    });
  }
  void SetProgress(uint64_t objects) {
    const auto pool =
        pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
    ASSERT_OK(pool);
    const std::string id = b_.ImageId(image_);
    const auto record = (*pool)->SnapshotRecord(id, Newest(b_).id);
    ASSERT_OK(record);
    ASSERT_TRUE(
        *(*pool)->SetCopyProgress(id, Newest(b_).id, *record, {objects}));
  }

  std::string other_;  // volume id of another one
};

TEST_F(CopyBeginningTest, IsPutBack) {
  MirrorGoes();
  auto objects = PutBack();
  ASSERT_OK(objects);
  EXPECT_EQ(*objects, 1U);
  EXPECT_EQ(b_.Data(image_), kWhole);
  EXPECT_FALSE(b_.Torn(image_));
  world_.ClearCalls();
  objects = PutBack();
  ASSERT_OK(objects);
  EXPECT_EQ(*objects, 0U);
  EXPECT_EQ(world_.CountMutations(), 0);
  // And is copied anew.
  b_.SetMirrorDaemon(DaemonState::kRunning);
  b_.SetCopySpeed(4);
  world_.Advance(minutes(2));
  EXPECT_EQ(b_.Data(image_), kNext);
  EXPECT_TRUE(Newest(b_).complete);
}

TEST_F(CopyBeginningTest, IsLeftToWhoHasTheImageOpen) {
  world_.ClearCalls();
  EXPECT_EQ(*PutBack(), 0U);  // rbd-mirror
  MirrorGoes();
  constexpr uint64_t kSomebody = 4711;
  b_.AddWatcher(image_, "192.0.2.9:0/1", kSomebody);
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_EQ(world_.CountMutations(), 0);
  b_.RemoveWatcher(image_, kSomebody);
  Before("rados_read", 2,
         [&] { b_.AddWatcher(image_, "192.0.2.9:0/1", kSomebody); });
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_EQ(world_.CountMutations(), 0);
}

TEST_F(CopyBeginningTest, IsNoneWhenAnObjectIsNoted) {
  MirrorGoes();
  Before("rados_read", 2, [&] { SetProgress(1); });
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_TRUE(b_.Torn(image_));
  world_.SetCallHook(nullptr);
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_TRUE(b_.Torn(image_));
}

TEST_F(CopyBeginningTest, AnObjectThatIsWrittenMeanwhileIsLeftAlone) {
  MirrorGoes();
  const auto pool =
      pair_.cluster(b_)->OpenPool(pair_.pool_id(b_), "", Access::kMutate);
  ASSERT_OK(pool);
  const std::string object =
      absl::StrCat("rbd_data.", b_.ImageId(image_), ".0000000000000000");
  constexpr char kNewer[] = "newer";
  Before("rados_write_op_write_full", 1, [&] {
    world_.SetCallHook(nullptr);
    const auto now = (*pool)->ReadObject(object, kHead, 5);
    ASSERT_OK(now);
    ASSERT_TRUE(*(*pool)->ReplaceObject(object, (*now)->version, kNewer));
  });
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_EQ((*(*pool)->ReadObject(object, kHead, 5))->bytes, kNewer);
}

TEST_F(CopyBeginningTest, WhatBroughtASnapshotWithItIsLeftAlone) {
  MirrorGoes();
  b_.AddSnapshot(image_, "u1", SnapshotKind::kUser);
  EXPECT_EQ(*PutBack(), 0U);
  EXPECT_TRUE(b_.Torn(image_));
}

TEST_F(CopyBeginningTest, AFullPoolIsTold) {
  MirrorGoes();
  Fail("rados_write_op_write_full", ENOSPC, 1);
  EXPECT_FALSE(PutBack().ok());
  EXPECT_EQ(*PutBack(), 1U);
}

// Which sends rbd-mirror away.
TEST_F(CopyBeginningTest, IsPutBackByAForcedPromotionOfAnotherVolume) {
  const uint64_t first = Newest(b_).id;
  ASSERT_OK(Run([&](OperationContext& context) {
    return addons::Promote(
        context, on_b_.environment(),
        {on_b_.Target(other_), Force::kYes, *ReplicationParameters::Parse({})});
  }));
  // It comes back, and is in the middle of the second copy when site a dies.
  b_.SetCopySpeed(4);
  ASSERT_TRUE(world_.AdvanceUntil(
      [&] {
        return Newest(b_).id != first && Newest(b_).last_copied_object > 3;
      },
      minutes(3)));
  ASSERT_FALSE(Newest(b_).complete);
  LoseA();
  EXPECT_OK(Promote(on_b_, Force::kYes));
  EXPECT_EQ(b_.Data(image_), kWhole);
  EXPECT_FALSE(b_.Torn(image_));
}

}  // namespace
}  // namespace addons::testing
