#ifndef ADDONS_TESTS_UNIT_CEPH_TEST_CLOCK_H_
#define ADDONS_TESTS_UNIT_CEPH_TEST_CLOCK_H_

#include <atomic>
#include <chrono>
#include <stop_token>

#include "base/clock.h"

namespace addons::testing {

/// A clock that only moves when told to; sleeping moves it.
class TestClock final : public Clock {
 public:
  SteadyTime Now() const override { return SteadyTime(SteadyDuration(now_)); }
  WallTime WallNow() const override { return WallTime(); }
  bool SleepFor(SteadyDuration duration, std::stop_token stop) override {
    Advance(duration);
    return !stop.stop_requested();
  }
  void Advance(SteadyDuration duration) { now_ += duration.count(); }

 private:
  std::atomic<SteadyDuration::rep> now_ = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_CEPH_TEST_CLOCK_H_
