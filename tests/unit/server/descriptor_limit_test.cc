#include "server/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

TEST(DescriptorLimitTest, RaisesTheSoftLimitToTheHardOneAndNoFurther) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{std::min<rlim_t>(before.rlim_cur, 256), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const absl::StatusOr<uint64_t> raised = RaiseDescriptorLimit();
  ASSERT_OK(raised);
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, *raised);
  EXPECT_EQ(now.rlim_cur, std::min<rlim_t>(before.rlim_max, 1 << 20));
  EXPECT_EQ(now.rlim_max, before.rlim_max);
  const absl::StatusOr<uint64_t> again = RaiseDescriptorLimit();
  ASSERT_OK(again);
  EXPECT_EQ(*again, *raised);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(DescriptorLimitTest, SocketsLeaveDescriptorsToTheRest) {
  const DescriptorBounds many = BoundDescriptors(1 << 20);
  EXPECT_EQ(many.callers, 12000U);
  EXPECT_EQ(many.administrators, 12256U);
  // As a container without a raised limit has it.
  const DescriptorBounds few = BoundDescriptors(1024);
  EXPECT_EQ(few.callers, 768U);
  EXPECT_EQ(few.administrators, 896U);
  EXPECT_EQ(BoundDescriptors(12'100).callers, 9075U);
}

}  // namespace
}  // namespace addons
