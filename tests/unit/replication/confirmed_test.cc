// What changes an image looks once more, through the handle that changes it:
// librbd goes by what that one knows, and 16 guards nothing.

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/replication/verbs_fixture.h"

namespace addons::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ConfirmedTest : public VerbsTest {
 protected:
  ConfirmedTest() { AddMirrored(); }
  /// `happens` between the next look and the open that is to change the image.
  template <typename Happens>
  void Between(const std::string& site, const Happens& happens) {
    world_.SetCallHook([site, happens, first = std::make_shared<bool>(true)](
                           absl::string_view at, absl::string_view call, bool) {
      if (at == site && call == "rbd_open" && std::exchange(*first, false)) {
        happens();
      }
      return 0;
    });
    world_.ClearCalls();
  }
};

// Without it librbd 16 makes a primary of half a copy.
TEST_F(ConfirmedTest, APromotionSeesTheCopyThatBeganAfterItsLook) {
  a_.Demote(image_);
  world_.Advance(minutes(1));
  Between("b", [this] {
    a_.Promote(image_, Force::kNo);
    b_.SetCopySpeed(0.1);
    ASSERT_OK(a_.Write(image_, 7));
    a_.CreateMirrorSnapshot(image_);
    world_.Advance(seconds(6));
  });
  EXPECT_THAT(Promote(on_b_), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(world_.CountCalls("b", "rbd_mirror_image_promote"), 0);
  EXPECT_FALSE(b_.Info(image_).primary);
}

TEST_F(ConfirmedTest, ADemotionSeesThatAnotherProgramWasFaster) {
  Between("a", [this] { a_.Demote(image_); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 0);
  EXPECT_EQ(world_.CountCalls("a", "rbd.metadata_set"), 0);
}

TEST_F(ConfirmedTest, ADisableSeesThatTheImageWasDemoted) {
  Between("a", [this] { a_.Demote(image_); });
  EXPECT_FALSE(Disable(on_a_).ok());
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_disable"), 0);
  EXPECT_EQ(a_.Info(image_).state, MirrorImageState::kEnabled);
}

TEST_F(ConfirmedTest, AnEnableSeesThatAnotherProgramWasFaster) {
  ASSERT_OK(Disable(on_a_));
  world_.Advance(minutes(2));
  Between("a", [this] { a_.EnableMirroring(image_); });
  EXPECT_OK(Enable(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_enable2"), 0);
}

// Whatever the difference is, what librbd shows decides from then on.
TEST_F(ConfirmedTest, WhatDiffersIsLookedAtThroughAnOpenImage) {
  Between("a", [this] { a_.CreateMirrorSnapshot(image_); });
  EXPECT_OK(Demote(on_a_));
  EXPECT_EQ(world_.CountCalls("a", "rbd_mirror_image_demote"), 1);
  EXPECT_GE(world_.CountCalls("a", "rbd_open_read_only"), 2);
  EXPECT_EQ(world_.CountCalls("a", "rbd_open"), 2);
}

}  // namespace
}  // namespace addons::testing
