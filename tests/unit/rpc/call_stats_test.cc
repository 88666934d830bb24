#include "rpc/call_stats.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

using std::chrono::nanoseconds;

TEST(CallStatsTest, CountsByMethodAndCode) {
  CallStats stats;
  for (const auto code : {absl::StatusCode::kOk, absl::StatusCode::kAborted,
                          absl::StatusCode::kOk}) {
    stats.Started();
    stats.Finished("a", code, nanoseconds(5));
  }
  const std::vector<CallCount> counts = stats.Counts();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].method, "a");
  EXPECT_EQ(counts[0].code, absl::StatusCode::kOk);
  EXPECT_EQ(counts[0].calls, 2U);
  EXPECT_EQ(counts[0].total, nanoseconds(10));
  EXPECT_EQ(counts[1].code, absl::StatusCode::kAborted);
  EXPECT_EQ(counts[1].calls, 1U);
}

TEST(CallStatsTest, KnowsHowManyCallsAreInFlight) {
  CallStats stats;
  stats.Started();
  stats.Started();
  EXPECT_EQ(stats.in_flight(), 2);
  stats.Finished("a", absl::StatusCode::kOk, nanoseconds(1));
  EXPECT_EQ(stats.in_flight(), 1);
}

}  // namespace
}  // namespace addons
