#include "node/io_priority.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace addons {
namespace {

constexpr int kThisThread = 0;

int Get() {
  return static_cast<int>(
      syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, kThisThread));
}

bool Set(int priority) {
  return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, kThisThread, priority) ==
         0;
}

}  // namespace

IdleIoPriority::IdleIoPriority() : before_(Get()) {
  if (!Set(IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT)) before_ = -1;
}

IdleIoPriority::~IdleIoPriority() {
  if (before_ >= 0) Set(before_);
}

}  // namespace addons
