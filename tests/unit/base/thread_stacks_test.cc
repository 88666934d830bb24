// A program with base/thread_stacks.cc: its threads tell of a full stack.

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/log.h"
#include "base/start_thread.h"

namespace addons {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

int Overflow(int depth) {
  if (depth < 0) return 0;
  std::array<char, 4096> frame{};
  volatile char* const used = frame.data();
  *used = static_cast<char>(depth);
  return Overflow(depth + 1) + *used;
}

TEST(ThreadStacksDeathTest, AThreadWhoseStackIsFullSaysWhereItWas) {
  EXPECT_DEATH(
      {
        InitLog("info").IgnoreError();
        FlushLogOnCrash();
        StartThread("deep", [] { Overflow(0); })->join();
      },
      "critical the process dies of a signal signal=\"SIGSEGV\" "
      "thread=\"deep\" address=\"0x[^\n]*\n[^\n]* critical back trace "
      "frame=\"0\" [^\n]*Overflow");
}

#endif

TEST(ThreadStacksTest, ThreadsRunAndEnd) {
  int ran = 0;
  for (int i = 0; i < 100; ++i) {
    StartThread("short", [&] { ++ran; })->join();
  }
  EXPECT_EQ(ran, 100);
}

}  // namespace
}  // namespace addons
