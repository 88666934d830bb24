#ifndef ADDONS_TESTS_UNIT_RPC_MANUAL_CLOCK_H_
#define ADDONS_TESTS_UNIT_RPC_MANUAL_CLOCK_H_

#include "base/clock.h"

namespace addons::testing {

/// A clock that stands still until it is moved. Not thread-safe.
class ManualClock final : public Clock {
 public:
  SteadyTime Now() const override { return now_; }
  WallTime WallNow() const override {
    return WallTime(now_.time_since_epoch());
  }
  bool SleepFor(SteadyDuration duration, std::stop_token stop) override {
    now_ += duration;
    return !stop.stop_requested();
  }
  void Advance(SteadyDuration duration) { now_ += duration; }

 private:
  SteadyTime now_ = SteadyTime(std::chrono::hours(1));
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_RPC_MANUAL_CLOCK_H_
