#ifndef ADDONS_TESTS_FAKES_PACED_CLOCK_H_
#define ADDONS_TESTS_FAKES_PACED_CLOCK_H_

#include <stop_token>

#include "base/clock.h"
#include "tests/fakes/fake_world.h"

namespace addons {

/// Simulated time stands still while a thread of this process has work to do.
/// It would otherwise race ahead of a member's thread that the machine has not
/// run yet, up to the deadline of the call.
class PacedClock final : public Clock {
 public:
  explicit PacedClock(FakeWorld& world) : world_(world) {}
  SteadyTime Now() const override { return world_.Now(); }
  WallTime WallNow() const override { return world_.WallNow(); }
  bool SleepFor(SteadyDuration duration, std::stop_token stop) override {
    AwaitIdleProcess(stop);
    return world_.SleepFor(duration, stop);
  }

 private:
  static void AwaitIdleProcess(const std::stop_token& stop);

  FakeWorld& world_;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_PACED_CLOCK_H_
