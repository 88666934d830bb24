#include "ceph/raw_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceph/image_diff.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::StatusIs;

ImageLayout Striped(uint64_t object, uint64_t unit, uint64_t count) {
  ImageLayout layout;
  layout.bytes = 1 << 20;
  layout.object_bytes = object;
  layout.stripe_unit = unit;
  layout.stripe_count = count;
  layout.object_prefix = "rbd_data.1";
  return layout;
}

/// Each byte of the image says where it is, in the objects of a layout. The
/// object `absent` is not there.
class Objects {
 public:
  Objects(const ImageLayout& layout, uint64_t absent) : absent_(absent) {
    const uint64_t count = layout.bytes / layout.object_bytes;
    for (uint64_t number = 0; number < count; ++number) {
      std::string& bytes = objects_[number];
      for (uint64_t at = 0; at < layout.object_bytes;
           at += layout.stripe_unit) {
        std::vector<ImageRange> where;
        AddImageRanges(layout, number, {at, layout.stripe_unit}, &where);
        EXPECT_EQ(where.size(), 1U);
        for (uint64_t i = 0; i < layout.stripe_unit; ++i) {
          bytes.push_back(ByteAt(where[0].offset + i));
        }
      }
    }
  }
  static char ByteAt(uint64_t offset) {
    return static_cast<char>(1 + offset / 512 % 100);
  }
  RawSnapshot::ReadObjectFn Read() {
    return
        [this](uint64_t number) -> absl::StatusOr<std::optional<std::string>> {
          ++reads_;
          if (number == absent_ || !objects_.contains(number))
            return std::nullopt;
          return objects_.at(number);
        };
  }
  int reads() const { return reads_; }

 private:
  const uint64_t absent_;
  std::map<uint64_t, std::string> objects_;
  int reads_ = 0;
};

class RawSnapshotTest : public ::testing::TestWithParam<ImageLayout> {};

TEST_P(RawSnapshotTest, ReadsWhatIsAtEachPlaceOfTheImage) {
  constexpr uint64_t kAbsent = 3;
  const ImageLayout& layout = GetParam();
  Objects objects(layout, kAbsent);
  std::vector<ImageRange> hidden;
  AddImageRanges(layout, kAbsent, {0, layout.object_bytes}, &hidden);
  RawSnapshot snapshot(layout, objects.Read());
  const std::vector<ImageRange> ranges = {
      {0, layout.bytes}, {4096, 4096}, {layout.bytes - 512, 512}, {700, 9000}};
  const auto read = snapshot.Read(ranges);
  ASSERT_OK(read);
  ASSERT_EQ(read->size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    ASSERT_EQ((*read)[i].bytes.size(), ranges[i].length);
    for (uint64_t at = 0; at < ranges[i].length; ++at) {
      const uint64_t offset = ranges[i].offset + at;
      bool zero = false;
      for (const ImageRange& range : hidden) {
        zero = zero ||
               (offset >= range.offset && offset < range.offset + range.length);
      }
      ASSERT_EQ((*read)[i].bytes[at], zero ? '\0' : Objects::ByteAt(offset))
          << offset;
    }
  }
  EXPECT_TRUE(snapshot.found());
}

INSTANTIATE_TEST_SUITE_P(Layouts, RawSnapshotTest,
                         ::testing::Values(Striped(65536, 65536, 1),
                                           Striped(65536, 4096, 1),
                                           Striped(65536, 4096, 4),
                                           Striped(65536, 65536, 2)));

TEST(RawSnapshotReadTest, AnObjectThatIsShortEndsInZeros) {
  RawSnapshot snapshot(
      Striped(4096, 4096, 1),
      [](uint64_t) -> absl::StatusOr<std::optional<std::string>> {
        return std::string("abc");
      });
  const auto read = snapshot.Read({{1, 4096}});
  ASSERT_OK(read);
  EXPECT_EQ((*read)[0].bytes, "bc" + std::string(4093, '\0') + "a");
}

TEST(RawSnapshotReadTest, WhatIsNotThereHasNoBytesAndIsNotFound) {
  RawSnapshot snapshot(
      Striped(4096, 4096, 1),
      [](uint64_t) -> absl::StatusOr<std::optional<std::string>> {
        return std::nullopt;
      });
  const auto read = snapshot.Read({{0, 8192}});
  ASSERT_OK(read);
  EXPECT_EQ((*read)[0].bytes, "");
  EXPECT_FALSE(snapshot.found());
}

TEST(RawSnapshotReadTest, AnObjectIsReadOnceForWhatLiesTogether) {
  Objects objects(Striped(65536, 65536, 1), 99);
  RawSnapshot snapshot(Striped(65536, 65536, 1), objects.Read());
  ASSERT_OK(snapshot.Read({{0, 512}, {1024, 512}, {65000, 1000}, {66000, 10}}));
  EXPECT_EQ(objects.reads(), 2);
}

TEST(RawSnapshotReadTest, AnErrorIsHandedOn) {
  RawSnapshot snapshot(
      Striped(4096, 4096, 1),
      [](uint64_t) -> absl::StatusOr<std::optional<std::string>> {
        return absl::UnavailableError("no OSD");
      });
  EXPECT_THAT(snapshot.Read({{0, 10}}),
              StatusIs(absl::StatusCode::kUnavailable, "no OSD"));
}

}  // namespace
}  // namespace addons
