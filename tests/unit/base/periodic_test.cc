#include "base/periodic.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <new>

namespace addons {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PeriodicTest, CallsAgainAndAgain) {
  std::atomic<int> calls = 0;
  std::promise<void> third;
  const Periodic periodic("test", milliseconds(1), [&] {
    if (++calls == 3) third.set_value();
  });
  EXPECT_EQ(third.get_future().wait_for(seconds(30)),
            std::future_status::ready);
}

TEST(PeriodicTest, AnExceptionEndsNothing) {
  std::atomic<int> calls = 0;
  std::promise<void> third;
  const Periodic periodic("test", milliseconds(1), [&] {
    if (++calls == 3) third.set_value();
    if (calls < 3) throw std::bad_alloc();
  });
  EXPECT_EQ(third.get_future().wait_for(seconds(30)),
            std::future_status::ready);
}

TEST(PeriodicTest, EndsWithoutWaitingForTheNextCall) {
  bool called = false;
  const auto begin = std::chrono::steady_clock::now();
  {
    const Periodic periodic("test", seconds(3600), [&] { called = true; });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(60));
  EXPECT_FALSE(called);
}

TEST(PeriodicTest, WaitsForTheCallThatRuns) {
  std::promise<void> entered;
  std::promise<void> release;
  std::atomic<bool> returned = false;
  std::atomic<bool> first = true;
  auto periodic = std::make_unique<Periodic>("test", milliseconds(1), [&] {
    if (!first.exchange(false)) return;
    entered.set_value();
    release.get_future().wait();
    returned = true;
  });
  entered.get_future().wait();
  const std::future<void> ended = std::async(std::launch::async, [&] {
    periodic.reset();
    EXPECT_TRUE(returned);
  });
  EXPECT_FALSE(returned);
  release.set_value();
  ended.wait();
}

}  // namespace
}  // namespace addons
