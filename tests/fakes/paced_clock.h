#ifndef ADDONS_TESTS_FAKES_PACED_CLOCK_H_
#define ADDONS_TESTS_FAKES_PACED_CLOCK_H_

#include <chrono>
#include <stop_token>

#include "base/clock.h"
#include "tests/fakes/fake_world.h"

namespace addons {

/// Lets a moment of real time pass with each sleep. Simulated seconds would
/// otherwise race ahead of a member's thread that the machine has not run yet.
class PacedClock final : public Clock {
 public:
  explicit PacedClock(FakeWorld& world) : world_(world) {}
  SteadyTime Now() const override { return world_.Now(); }
  WallTime WallNow() const override { return world_.WallNow(); }
  bool SleepFor(SteadyDuration duration, std::stop_token stop) override {
    RealClock().SleepFor(std::chrono::milliseconds(1), stop);
    return world_.SleepFor(duration, stop);
  }

 private:
  FakeWorld& world_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_PACED_CLOCK_H_
