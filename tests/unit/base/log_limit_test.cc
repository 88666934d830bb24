#include "base/log_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace addons {
namespace {

using std::chrono::seconds;

TEST(LogLimitTest, LetsOnePassPerIntervalAndCountsTheOthers) {
  LogLimit limit{seconds(60)};
  const SteadyTime start;
  EXPECT_EQ(limit.Admit(start), 0U);
  EXPECT_EQ(limit.Admit(start + seconds(1)), std::nullopt);
  EXPECT_EQ(limit.Admit(start + seconds(59)), std::nullopt);
  EXPECT_EQ(limit.Admit(start + seconds(60)), 2U);
  EXPECT_EQ(limit.Admit(start + seconds(61)), std::nullopt);
  EXPECT_EQ(limit.Admit(start + seconds(200)), 1U);
}

}  // namespace
}  // namespace addons
