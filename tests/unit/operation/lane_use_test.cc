#include "operation/lane_use.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

using std::chrono::milliseconds;

OperationInfo Listed(Lane lane, bool running, milliseconds age) {
  OperationInfo info;
  info.lane = lane;
  info.running = running;
  info.age = age;
  return info;
}

TEST(LaneUseTest, EveryLaneIsThereAlsoWhenNothingRuns) {
  OperationLimits limits;
  limits.control = {3, 2, 5};
  limits.bulk = {4, 1, 6};
  limits.read = {7, 7, 8};
  const std::vector<LaneUse> uses = UseOfLanes(limits, {});
  ASSERT_EQ(uses.size(), 3U);
  EXPECT_EQ(Name(uses[0].lane), "control");
  EXPECT_EQ(uses[0].limits.workers, 3U);
  EXPECT_EQ(Name(uses[1].lane), "bulk");
  EXPECT_EQ(uses[1].limits.queued, 6U);
  EXPECT_EQ(Name(uses[2].lane), "read");
  EXPECT_EQ(uses[2].limits.workers, 7U);
  for (const LaneUse& use : uses) {
    EXPECT_EQ(use.running, 0U);
    EXPECT_EQ(use.queued, 0U);
    EXPECT_EQ(use.oldest, milliseconds(0));
  }
}

TEST(LaneUseTest, CountsWhatRunsAndWhatWaitsAndKnowsTheOldest) {
  OperationInfo between_looks = Listed(Lane::kBulk, true, milliseconds(2));
  between_looks.between_looks = true;
  const std::vector<LaneUse> uses =
      UseOfLanes(OperationLimits{},
                 {between_looks, Listed(Lane::kBulk, true, milliseconds(9)),
                  Listed(Lane::kBulk, true, milliseconds(30)),
                  Listed(Lane::kBulk, false, milliseconds(5)),
                  Listed(Lane::kRead, true, milliseconds(1))});
  EXPECT_EQ(uses[0].running, 0U);
  EXPECT_EQ(uses[1].running, 2U);
  EXPECT_EQ(uses[1].waiting, 1U);
  EXPECT_EQ(uses[1].queued, 1U);
  EXPECT_EQ(uses[1].oldest, milliseconds(30));
  EXPECT_EQ(uses[2].running, 1U);
  EXPECT_EQ(uses[2].oldest, milliseconds(1));
}

}  // namespace
}  // namespace addons
