#include "replication/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace addons {
namespace {

TEST(RunParallelTest, CallsEachOnce) {
  for (const size_t threads : {0, 1, 4, 100}) {
    std::vector<std::atomic<int>> calls(50);
    RunParallel(calls.size(), threads, [&](size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
}

TEST(RunParallelTest, NothingToDo) {
  RunParallel(0, 4, [](size_t) { FAIL(); });
}

TEST(RunParallelTest, ExceptionIsThrownWhenTheOthersHaveEnded) {
  std::atomic<int> calls{0};
  EXPECT_THROW(RunParallel(20, 4,
                           [&](size_t i) {
                             ++calls;
                             if (i == 3) throw std::runtime_error("3");
                           }),
               std::runtime_error);
  EXPECT_EQ(calls, 20);
}

}  // namespace
}  // namespace addons
