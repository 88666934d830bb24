#include "volume/csi_handle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr char kText[] =
    "0001-0006-site-a-0000000000000002-1603eb04-e188-4ec4-a750-bec38d49ac0a";

TEST(CsiHandleTest, SaysWhatItsTextSays) {
  const VolumeHandle volume(kText);
  EXPECT_EQ(volume.text(), kText);
  ASSERT_OK(volume.id());
  EXPECT_EQ(volume.id()->cluster_id, ClusterId("site-a"));
  EXPECT_EQ(volume.id()->pool_id, 2);
}

TEST(CsiHandleTest, WhatDoesNotDecodeIsCalledByItsKind) {
  EXPECT_THAT(VolumeHandle("my-disk").id(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("volume id 'my-disk'")));
  EXPECT_THAT(GroupHandle("my-group").id(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("volume group id 'my-group'")));
  EXPECT_THAT(VolumeHandle().id(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            StartsWith("volume id is empty")));
}

TEST(CsiHandleTest, IsEqualAndOrderedByItsText) {
  const std::set<VolumeHandle> handles = {VolumeHandle("b"), VolumeHandle("a"),
                                          VolumeHandle("b")};
  EXPECT_THAT(handles, ElementsAre("a", "b"));
  EXPECT_NE(VolumeHandle(kText), VolumeHandle("a"));
  EXPECT_THAT(Texts({VolumeHandle("b"), VolumeHandle("a")}),
              ElementsAre("b", "a"));
}

}  // namespace
}  // namespace addons::testing
