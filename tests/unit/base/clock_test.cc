#include "base/clock.h"

#include <gtest/gtest.h>

#include <latch>
#include <stop_token>
#include <thread>

namespace addons {
namespace {

TEST(RealClockTest, NowDoesNotGoBack) {
  const SteadyTime before = RealClock().Now();
  EXPECT_GE(RealClock().Now(), before);
}

TEST(RealClockTest, NowIsTheSteadyClock) {
  const SteadyTime before = std::chrono::steady_clock::now();
  const SteadyTime now = RealClock().Now();
  EXPECT_GE(now, before);
  EXPECT_LE(now, std::chrono::steady_clock::now());
}

TEST(RealClockTest, WallNowIsTheSystemClock) {
  const WallTime wall = RealClock().WallNow();
  const WallTime system = std::chrono::system_clock::now();
  EXPECT_LT(std::chrono::abs(system - wall), std::chrono::minutes(10));
}

TEST(RealClockTest, SleepsForTheWholeDuration) {
  const SteadyTime before = RealClock().Now();
  EXPECT_TRUE(RealClock().SleepFor(std::chrono::milliseconds(5), {}));
  EXPECT_GE(RealClock().Now() - before, std::chrono::milliseconds(5));
}

TEST(RealClockTest, ReturnsAtOnceWhenStoppedBefore) {
  std::latch stopped(1);
  bool slept = true;
  std::jthread sleeper([&](const std::stop_token& stop) {
    stopped.wait();
    slept = RealClock().SleepFor(std::chrono::hours(1), stop);
  });
  sleeper.request_stop();
  stopped.count_down();
  sleeper.join();
  EXPECT_FALSE(slept);
}

TEST(RealClockTest, WakesUpWhenStopped) {
  bool slept = true;
  std::jthread sleeper([&slept](const std::stop_token& stop) {
    slept = RealClock().SleepFor(std::chrono::hours(1), stop);
  });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_FALSE(slept);
}

TEST(RealClockTest, IsOneObject) { EXPECT_EQ(&RealClock(), &RealClock()); }

}  // namespace
}  // namespace addons
