#include "node/block_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/linux_tree.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr DeviceNumber kRbd{252, 0};
constexpr DeviceNumber kMapper{253, 0};

auto Named(const std::string& name) { return Field(&BlockLayer::name, name); }

class BlockStackTest : public ::testing::Test {
 protected:
  BlockStackTest() { tree_.AddDisk("rbd0", "252:0"); }
  void AddLuks() {
    tree_.AddDisk("dm-0", "253:0");
    tree_.Stack("dm-0", "rbd0", "CRYPT-LUKS2-0a1b-luks", "luks-rbd-x");
  }
  absl::StatusOr<BlockStack> Read(DeviceNumber device) {
    return ReadBlockStack(tree_.roots(), device);
  }
  LinuxTree tree_;
};

TEST_F(BlockStackTest, ReadsOneDevice) {
  const auto stack = Read(kRbd);
  ASSERT_OK(stack);
  EXPECT_THAT(stack->layers, ElementsAre(Named("rbd0")));
  EXPECT_EQ(stack->size_bytes, LinuxTree::kBytes);
  EXPECT_EQ(stack->Coarsest().discard_granularity, 65536U);
  EXPECT_EQ(stack->WithoutDiscard(), nullptr);
}

TEST_F(BlockStackTest, WalksThroughEncryption) {
  AddLuks();
  const auto stack = Read(kMapper);
  ASSERT_OK(stack);
  EXPECT_THAT(stack->layers, ElementsAre(Named("dm-0"), Named("rbd0")));
  EXPECT_EQ(stack->lowest().name, "rbd0");
  EXPECT_THAT(stack->layers[0].Describe(),
              HasSubstr("CRYPT-LUKS2-0a1b-luks 'luks-rbd-x'"));
}

TEST_F(BlockStackTest, WalksThroughAPartition) {
  tree_.AddPartition("rbd0", "rbd0p1", "252:1");
  const auto stack = Read({252, 1});
  ASSERT_OK(stack);
  EXPECT_THAT(stack->layers, ElementsAre(Named("rbd0p1"), Named("rbd0")));
  EXPECT_EQ(stack->WithoutDiscard(), nullptr);
}

TEST_F(BlockStackTest, NamesEncryptionThatDoesNotPassDiscardsOn) {
  AddLuks();
  tree_.SetDiscard("dm-0", 0, 0);
  const auto stack = Read(kMapper);
  ASSERT_OK(stack);
  ASSERT_NE(stack->WithoutDiscard(), nullptr);
  EXPECT_EQ(stack->WithoutDiscard()->name, "dm-0");
}

TEST_F(BlockStackTest, NamesTheLowestLayerWithoutDiscard) {
  AddLuks();
  tree_.SetDiscard("dm-0", 0, 0);
  tree_.SetDiscard("rbd0", 0, 0);
  const auto stack = Read(kMapper);
  ASSERT_OK(stack);
  ASSERT_NE(stack->WithoutDiscard(), nullptr);
  EXPECT_EQ(stack->WithoutDiscard()->name, "rbd0");
}

TEST_F(BlockStackTest, TakesTheCoarsestGranularity) {
  AddLuks();
  tree_.SetDiscard("dm-0", 4096, 4096);
  const auto stack = Read(kMapper);
  ASSERT_OK(stack);
  EXPECT_EQ(stack->Coarsest().discard_granularity, 65536U);
}

TEST_F(BlockStackTest, RefusesWhatIsNoBlockDevice) {
  EXPECT_THAT(Read({0, 44}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("no block device (0:44)")));
}

TEST_F(BlockStackTest, RefusesAStackOfSeveralDevices) {
  AddLuks();
  tree_.AddDisk("rbd1", "252:16");
  tree_.Stack("dm-0", "rbd1", "LVM-x", "striped");
  EXPECT_THAT(Read(kMapper), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("2 devices")));
}

TEST_F(BlockStackTest, EndsOnDevicesInACircle) {
  tree_.AddDisk("dm-0", "253:0");
  tree_.Stack("dm-0", "dm-0", "X", "x");
  EXPECT_THAT(Read(kMapper), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace addons::testing
