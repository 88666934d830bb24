#include "node/io_priority.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/ioprio_abi.h"

namespace addons {
namespace {

constexpr long kBestEffort5 =
    (ioprio::kClassBestEffort << ioprio::kClassShift) | 5;

long Current() { return syscall(SYS_ioprio_get, ioprio::kWhoProcess, 0); }

TEST(IdleIoPriorityTest, LastsAsLongAsTheObject) {
  ASSERT_EQ(syscall(SYS_ioprio_set, ioprio::kWhoProcess, 0, kBestEffort5), 0);
  {
    const IdleIoPriority idle;
    EXPECT_EQ(Current() >> ioprio::kClassShift, ioprio::kClassIdle);
  }
  EXPECT_EQ(Current(), kBestEffort5);
}

}  // namespace
}  // namespace addons
