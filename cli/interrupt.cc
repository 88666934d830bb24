#include "cli/interrupt.h"

#include <atomic>

namespace addons {
namespace {

// A handler of a signal has nothing else to write to.
std::atomic<bool> interrupted{false};
std::atomic<int> alive{0};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void NoteInterrupt(int /*signal*/) { interrupted = true; }

}  // namespace

Interrupt::Interrupt() {
  if (alive++ > 0) return;
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = NoteInterrupt;
  // The next one does what it does otherwise; calls of the system go on.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interrupt::~Interrupt() {
  if (--alive > 0) return;
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interrupt::Came() { return interrupted; }

}  // namespace addons
