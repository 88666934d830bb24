#include "base/crash_stack.h"

#include <sys/mman.h>

#include <csignal>
#include <cstddef>

namespace addons {
namespace {

/// Only what is used of it takes memory.
constexpr size_t kBytes = size_t{64} << 10;

class CrashStack {
 public:
  CrashStack() {
    stack_t before{};
    if (sigaltstack(nullptr, &before) != 0 || before.ss_sp != nullptr) return;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    if (sigaltstack(&stack, nullptr) != 0) {
      munmap(memory, kBytes);
      return;
    }
    memory_ = memory;
  }
  ~CrashStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(memory_, kBytes);
  }
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  void* memory_ = nullptr;
};

}  // namespace

void UseCrashStack() {
  [[maybe_unused]] static thread_local const CrashStack stack;
}

}  // namespace addons
