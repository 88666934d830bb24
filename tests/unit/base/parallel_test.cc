#include "base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/mutex.h"

namespace addons {
namespace {

TEST(RunParallelTest, CallsEachIndexOnce) {
  std::vector<std::atomic<int>> calls(1000);
  RunParallel(calls.size(), 8, [&](size_t i) { ++calls[i]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  RunParallel(0, 8, [](size_t) { FAIL(); });
}

TEST(RunParallelTest, RunsAsManyAtATimeAsItMay) {
  constexpr int kThreads = 4;
  Mutex mutex;
  CondVar changed;
  int running = 0;
  int most = 0;
  // Each call waits until four run; with fewer this would never end.
  RunParallel(16, kThreads, [&](size_t) {
    const MutexLock lock(mutex);
    most = std::max(most, ++running);
    changed.NotifyAll();
    while (most < kThreads) changed.Wait(mutex);
    --running;
  });
  EXPECT_EQ(most, kThreads);
}

TEST(RunParallelTest, AnExceptionIsThrownOnWhenAllHaveEnded) {
  std::atomic<int> calls{0};
  EXPECT_THROW(RunParallel(20, 4,
                           [&](size_t i) {
                             ++calls;
                             if (i == 3) throw std::runtime_error("no");
                           }),
               std::runtime_error);
  EXPECT_EQ(calls, 20);
}

}  // namespace
}  // namespace addons
