#include "ceph/image_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace addons {

// For messages and matchers of these tests.
static bool operator==(const ImageRange& one, const ImageRange& other) {
  return one.offset == other.offset && one.length == other.length;
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = uint64_t{1} << 20;

ImageRange R(uint64_t offset, uint64_t length) { return {offset, length}; }

TEST(ObjectDifferenceTest, AnObjectThatWasNeverThereDoesNotDiffer) {
  EXPECT_THAT(ObjectDifference({}, {4, 7}), IsEmpty());
  EXPECT_THAT(ObjectDifference({}, {4, kHead}), IsEmpty());
}

TEST(ObjectDifferenceTest, WhatWasWrittenBeforeBothDoesNotDiffer) {
  // Written after snapshot 3 was made, and never since.
  const ObjectSnapshots object{3, {{kHead, {}, {}, 4 * kMiB}}};
  EXPECT_THAT(ObjectDifference(object, {4, 7}), IsEmpty());
  EXPECT_THAT(ObjectDifference(object, {7, kHead}), IsEmpty());
}

TEST(ObjectDifferenceTest, AnObjectThatCameAfterwardsDiffersAsAWhole) {
  const ObjectSnapshots object{4, {{kHead, {}, {}, kMiB}}};
  EXPECT_THAT(ObjectDifference(object, {4, 7}), ElementsAre(R(0, kMiB)));
  EXPECT_THAT(ObjectDifference(object, {4, kHead}), ElementsAre(R(0, kMiB)));
  EXPECT_THAT(ObjectDifference(object, {7, kHead}), IsEmpty());
}

TEST(ObjectDifferenceTest, AnObjectThatWentDiffersAsAWhole) {
  const ObjectSnapshots object{7, {{7, {4, 7}, {}, kMiB}}};
  EXPECT_THAT(ObjectDifference(object, {4, 7}), IsEmpty());
  EXPECT_THAT(ObjectDifference(object, {7, kHead}), ElementsAre(R(0, kMiB)));
}

TEST(ObjectDifferenceTest, OfAnOverwriteOnlyWhatDoesNotOverlapDiffers) {
  const ObjectSnapshots object{
      7,
      {{7, {4, 7}, {R(0, 4096), R(8192, kMiB - 8192)}, kMiB},
       {kHead, {}, {}, 2 * kMiB}}};
  EXPECT_THAT(ObjectDifference(object, {4, kHead}),
              ElementsAre(R(4096, 4096), R(kMiB, kMiB)));
  EXPECT_THAT(ObjectDifference(object, {4, 7}), IsEmpty());
}

// A clone of a golden image that got its first 4 KiB: what lies behind them
// read as the parent's before, and as zeros since.
TEST(ObjectDifferenceTest, AnObjectThatCoversOneOfAParentDiffersToItsEnd) {
  const ImageRange whole = R(0, std::numeric_limits<uint64_t>::max());
  const ObjectSnapshots came{4, {{kHead, {}, {}, 4096}}};
  EXPECT_THAT(ObjectDifference(came, {4, 7, AbsentObject::kParent}),
              ElementsAre(whole));
  EXPECT_THAT(ObjectDifference(came, {7, kHead, AbsentObject::kParent}),
              IsEmpty());
  EXPECT_THAT(ObjectDifference({}, {4, 7, AbsentObject::kParent}), IsEmpty());
  const ObjectSnapshots went{7, {{7, {4, 7}, {}, 4096}}};
  EXPECT_THAT(ObjectDifference(went, {7, kHead, AbsentObject::kParent}),
              ElementsAre(whole));
}

TEST(ObjectDifferenceTest, OfAParentThatWentEachAbsentObjectDiffers) {
  const ImageRange whole = R(0, std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(ObjectDifference({}, {4, kHead, AbsentObject::kUnclear}),
              ElementsAre(whole));
  const ObjectSnapshots object{3, {{kHead, {}, {}, 4096}}};
  EXPECT_THAT(ObjectDifference(object, {4, kHead, AbsentObject::kUnclear}),
              IsEmpty());
}

TEST(ObjectDifferenceTest, WhatWasThereInBetweenAloneDiffersWhereAsked) {
  const auto difference = [](const ObjectSnapshots& object, bool between) {
    return ObjectDifference(object, {4, kHead, AbsentObject::kZeros, between});
  };
  // Written after 4, and gone after 7; it was smaller at 9.
  const ObjectSnapshots gone{9, {{7, {7}, {}, 2 * kMiB}, {9, {9}, {}, kMiB}}};
  EXPECT_THAT(difference(gone, false), IsEmpty());
  EXPECT_THAT(difference(gone, true), ElementsAre(R(0, 2 * kMiB)));
  // It is there again, and smaller.
  const ObjectSnapshots again{7, {{7, {7}, {}, kMiB}, {kHead, {}, {}, 4096}}};
  EXPECT_THAT(difference(again, false), ElementsAre(R(0, 4096)));
  EXPECT_THAT(difference(again, true), ElementsAre(R(0, kMiB)));
  // What was there before 4 alone is nothing of it.
  const ObjectSnapshots before{4, {{3, {3}, {}, kMiB}}};
  EXPECT_THAT(difference(before, true), IsEmpty());
  const ObjectSnapshots same{3, {{kHead, {}, {}, kMiB}}};
  EXPECT_THAT(difference(same, true), IsEmpty());
}

TEST(AddImageRangesTest, AWholeObjectEndsWithTheObject) {
  const ImageLayout layout{.bytes = 48 * kMiB,
                           .object_bytes = 4 * kMiB,
                           .stripe_unit = 4 * kMiB,
                           .stripe_count = 1,
                           .object_prefix = "rbd_data.1"};
  std::vector<ImageRange> ranges;
  AddImageRanges(layout, 2, R(0, std::numeric_limits<uint64_t>::max()),
                 &ranges);
  EXPECT_THAT(ranges, ElementsAre(R(8 * kMiB, 4 * kMiB)));
}

TEST(ObjectDifferenceTest, ChangesAddUpOverTheClonesInBetween) {
  const ObjectSnapshots object{9,
                               {{4, {4}, {R(4096, kMiB - 4096)}, kMiB},
                                {7, {7}, {R(0, kMiB - 512)}, kMiB},
                                {9, {9}, {R(0, kMiB)}, kMiB},
                                {kHead, {}, {}, kMiB}}};
  EXPECT_THAT(ObjectDifference(object, {4, 9}),
              ElementsAre(R(0, 4096), R(kMiB - 512, 512)));
  EXPECT_THAT(ObjectDifference(object, {9, kHead}), IsEmpty());
  EXPECT_THAT(ObjectDifference(object, {4, 7}), ElementsAre(R(0, 4096)));
}

std::vector<ImageRange> InImage(const ImageLayout& layout, uint64_t number,
                                const ImageRange& range) {
  std::vector<ImageRange> ranges;
  AddImageRanges(layout, number, range, &ranges);
  return ranges;
}

TEST(ImageRangesTest, ObjectsFollowEachOther) {
  const ImageLayout layout{100 * kMiB, 4 * kMiB, 4 * kMiB, 1, 2, "rbd_data.1"};
  EXPECT_THAT(InImage(layout, 0, {0, 4 * kMiB}), ElementsAre(R(0, 4 * kMiB)));
  EXPECT_THAT(InImage(layout, 3, {512, 1024}),
              ElementsAre(R(12 * kMiB + 512, 1024)));
}

TEST(ImageRangesTest, StripesAreSpreadOverASetOfObjects) {
  // Objects of 4 units; 3 objects take turns.
  const ImageLayout layout{100 * kMiB, 4 * kMiB, kMiB, 3, 2, "rbd_data.1"};
  EXPECT_THAT(InImage(layout, 0, {0, 2 * kMiB}),
              ElementsAre(R(0, kMiB), R(3 * kMiB, kMiB)));
  EXPECT_THAT(InImage(layout, 2, {kMiB - 1, 2}),
              ElementsAre(R(3 * kMiB - 1, 1), R(5 * kMiB, 1)));
  // The second set begins after 12 units.
  EXPECT_THAT(InImage(layout, 4, {3 * kMiB, 512}),
              ElementsAre(R((12 + 3 * 3 + 1) * kMiB, 512)));
}

TEST(JoinedTest, SortsGrowsJoinsAndCuts) {
  EXPECT_THAT(Joined({{20000, 10}, {0, 1}, {4096, 4096}, {30000, 9}}, 30005),
              ElementsAre(R(0, 8192), R(16384, 4096), R(28672, 1333)));
  EXPECT_THAT(Joined({{8192, 1}, {5, 0}}, 8192), IsEmpty());
}

}  // namespace
}  // namespace addons
