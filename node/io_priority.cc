#include "node/io_priority.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "node/ioprio_abi.h"

namespace addons {
namespace {

constexpr int kThisThread = 0;

int Get() {
  return static_cast<int>(
      syscall(SYS_ioprio_get, ioprio::kWhoProcess, kThisThread));
}

bool Set(int priority) {
  return syscall(SYS_ioprio_set, ioprio::kWhoProcess, kThisThread, priority) ==
         0;
}

}  // namespace

IdleIoPriority::IdleIoPriority() : before_(Get()) {
  if (!Set(ioprio::kClassIdle << ioprio::kClassShift)) before_ = -1;
}

IdleIoPriority::~IdleIoPriority() {
  if (before_ >= 0) Set(before_);
}

}  // namespace addons
