#include "node/io_priority.h"

#include <gtest/gtest.h>
#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace addons {
namespace {

long Current() { return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0); }

TEST(IdleIoPriorityTest, LastsAsLongAsTheObject) {
  ASSERT_EQ(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
                    IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 5)),
            0);
  {
    const IdleIoPriority idle;
    EXPECT_EQ(IOPRIO_PRIO_CLASS(Current()), IOPRIO_CLASS_IDLE);
  }
  EXPECT_EQ(Current(), IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 5));
}

}  // namespace
}  // namespace addons
