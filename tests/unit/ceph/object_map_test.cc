#include "ceph/object_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

constexpr auto kNone = ObjectState::kNonexistent;
constexpr auto kNew = ObjectState::kExists;
constexpr auto kGoes = ObjectState::kPending;
constexpr auto kClean = ObjectState::kExistsClean;

ObjectMap MapOf(const std::vector<ObjectState>& states) {
  return DecodeObjectMap(EncodeObjectMap(states)).value();
}

// As Ceph 16.2.15 has written them, with their checksums, of an image of four
// objects: a snapshot after all of them were written, and the next one.
TEST(ObjectMapTest, TellsOfEachObject) {
  const auto written = DecodeObjectMap(
      absl::HexStringToBytes("0e0000000101080000000400000000000000550c0000003f"
                             "38aacb01000000cfced464"));
  ASSERT_OK(written);
  const auto next = DecodeObjectMap(
      absl::HexStringToBytes("0e0000000101080000000400000000000000ff0c0000003f"
                             "38aacb0100000051537dad"));
  ASSERT_OK(next);
  EXPECT_EQ(written->objects(), 4U);
  for (uint64_t object = 0; object < 4; ++object) {
    EXPECT_EQ(written->At(object), kNew);
    EXPECT_EQ(next->At(object), kClean);
  }
  EXPECT_EQ(written->At(4), kNone);
}

// The first object is in the highest bits.
TEST(ObjectMapTest, KeepsTheOrderOfObjects) {
  const auto map = DecodeObjectMap(absl::HexStringToBytes(
      "0e000000010108000000050000000000000057c000000000"));
  ASSERT_OK(map);
  EXPECT_EQ(map->At(0), kNew);
  EXPECT_EQ(map->At(2), kNew);
  EXPECT_EQ(map->At(3), kClean);
  EXPECT_EQ(map->At(4), kClean);
  EXPECT_EQ(map->At(5), kNone);
}

TEST(ObjectMapTest, WhatIsWrittenOtherwiseIsNotUnderstood) {
  const std::string bytes = EncodeObjectMap({kNew, kGoes, kClean, kNone, kNew});
  const auto map = DecodeObjectMap(bytes);
  ASSERT_OK(map);
  EXPECT_EQ(map->At(1), kGoes);
  EXPECT_EQ(map->At(4), kNew);
  for (const size_t at : std::vector<size_t>{0, 4, 5, 6, 10}) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] + 100);
    EXPECT_THAT(DecodeObjectMap(other).status(),
                StatusIs(absl::StatusCode::kInternal))
        << at;
  }
  // The length of the checksums behind it does not matter.
  for (size_t length = 0; length < bytes.size() - 4; ++length) {
    EXPECT_FALSE(DecodeObjectMap(bytes.substr(0, length)).ok()) << length;
  }
}

TEST(ObjectMapTest, OnlyWhatIsCleanAllTheWayIsUnchanged) {
  const auto unchanged = [](const std::vector<ObjectState>& states) {
    std::vector<ObjectMap> maps;
    maps.reserve(states.size());
    for (const ObjectState state : states) maps.push_back(MapOf({state}));
    return CalledUnchanged(maps, 0);
  };
  // What the first one says is about what was before it.
  EXPECT_TRUE(unchanged({kNew, kClean}));
  EXPECT_TRUE(unchanged({kClean, kClean, kClean}));
  EXPECT_TRUE(unchanged({kNone, kNone}));
  EXPECT_FALSE(unchanged({kClean, kNew}));
  EXPECT_FALSE(unchanged({kClean, kNew, kClean}));
  EXPECT_FALSE(unchanged({kClean, kGoes}));
  EXPECT_FALSE(unchanged({kNone, kClean}));
  EXPECT_FALSE(unchanged({kClean, kNone}));
}

TEST(ObjectMapTest, IsNamedByTheSnapshot) {
  EXPECT_EQ(ObjectMapObject("10ab", kHead), "rbd_object_map.10ab");
  EXPECT_EQ(ObjectMapObject("10ab", 27),
            "rbd_object_map.10ab.000000000000001b");
}

}  // namespace
}  // namespace addons
