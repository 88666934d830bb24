#include "networkfence/range_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "networkfence/parameters.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/test_operation_context.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

std::vector<Cidr> Ranges(const std::vector<std::string>& texts) {
  return *ParseRanges(texts);
}

TEST(FindOverlapTest, AgreesWithALookAtEachPair) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  int overlaps = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto some = [&] {
      std::vector<Cidr> ranges;
      for (auto i = random() % 6; i > 0; --i) {
        const bool six = random() % 4 == 0;
        const auto prefix = static_cast<int>(28 + random() % 5);
        ranges.emplace_back(
            IpAddress{six ? IpFamily::kIPv6 : IpFamily::kIPv4, random() % 64},
            six ? 96 + prefix : prefix);
      }
      return Merged(std::move(ranges));
    };
    const std::vector<Cidr> a = some();
    const std::vector<Cidr> b = some();
    bool expected = false;
    for (const Cidr& one : a) {
      for (const Cidr& other : b) {
        expected = expected || one.Contains(other) || other.Contains(one);
      }
    }
    overlaps += expected ? 1 : 0;
    ASSERT_EQ(FindOverlap(a, b).has_value(), expected)
        << JoinRanges(a) << " and " << JoinRanges(b);
  }
  // Both answers were to be given.
  EXPECT_GT(overlaps, 200);
  EXPECT_LT(overlaps, 1800);
}

class RangeTurnsTest : public ::testing::Test {
 protected:
  FakeWorld world_;
  RangeTurns turns_;
};

TEST_F(RangeTurnsTest, OtherRangesAndOtherClustersGoOnAtOnce) {
  TestOperationContext context(world_);
  const auto first = turns_.Await(context, "fsid", Ranges({"10.0.0.0/24"}));
  ASSERT_OK(first);
  EXPECT_OK(
      turns_.Await(context, "fsid", Ranges({"10.0.1.0/24", "fd00::/64"})));
  EXPECT_OK(turns_.Await(context, "other", Ranges({"10.0.0.0/24"})));
  EXPECT_THAT(context.steps(), IsEmpty());
}

TEST_F(RangeTurnsTest, AnOverlappingRangeWaitsUntilTheFirstIsDone) {
  TestOperationContext first_context(world_);
  auto first = turns_.Await(first_context, "fsid", Ranges({"10.0.0.0/24"}));
  ASSERT_OK(first);
  TestOperationContext context(world_);
  world_.Schedule(std::chrono::seconds(3), [&] { first->reset(); });
  EXPECT_OK(
      turns_.Await(context, "fsid", Ranges({"10.9.0.0/16", "10.0.0.5/32"})));
  EXPECT_GE(context.slept(), std::chrono::seconds(3));
  EXPECT_LT(context.slept(), std::chrono::seconds(4));
  EXPECT_THAT(context.steps(),
              Contains("waiting for a change of an overlapping range"));
  // What it would have been told meanwhile is not true any more.
  EXPECT_OK(context.pending());
}

TEST_F(RangeTurnsTest, WhoGivesUpLeavesHisPlaceAndHearsForWhat) {
  TestOperationContext first_context(world_);
  const auto first =
      turns_.Await(first_context, "fsid", Ranges({"10.0.0.0/24"}));
  ASSERT_OK(first);
  {
    TestOperationContext context(world_);
    context.CancelAfter(std::chrono::seconds(2));
    EXPECT_THAT(turns_.Await(context, "fsid", Ranges({"10.0.0.0/8"})).status(),
                StatusIs(absl::StatusCode::kCancelled));
    EXPECT_THAT(context.pending(),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("10.0.0.0/24"),
                               HasSubstr("repeat the call"))));
  }
  TestOperationContext context(world_);
  EXPECT_OK(turns_.Await(context, "fsid", Ranges({"10.7.0.0/16"})));
}

TEST_F(RangeTurnsTest, WhoCameFirstGoesFirst) {
  TestOperationContext first_context(world_);
  auto first = turns_.Await(first_context, "fsid", Ranges({"10.0.0.0/24"}));
  ASSERT_OK(first);
  // The second waits for the first and keeps its place when it is run again,
  // so a third one that overlaps only the second waits, too.
  TestOperationContext second_context(world_);
  second_context.CancelAfter(std::chrono::seconds(1));
  EXPECT_THAT(
      turns_.Await(second_context, "fsid", Ranges({"10.0.0.0/16"})).status(),
      StatusIs(absl::StatusCode::kCancelled));
  TestOperationContext third_context(world_);
  third_context.CancelAfter(std::chrono::seconds(1));
  EXPECT_THAT(
      turns_.Await(third_context, "fsid", Ranges({"10.0.7.0/24"})).status(),
      StatusIs(absl::StatusCode::kCancelled));
  first->reset();
  EXPECT_OK(turns_.Await(second_context, "fsid", Ranges({"10.0.0.0/16"})));
}

}  // namespace
}  // namespace addons
