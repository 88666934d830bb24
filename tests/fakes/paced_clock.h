#ifndef ADDONS_TESTS_FAKES_PACED_CLOCK_H_
#define ADDONS_TESTS_FAKES_PACED_CLOCK_H_

#include <set>
#include <stop_token>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "tests/fakes/fake_world.h"

namespace addons {

/// Simulated time stands still while a thread of this process has work to do,
/// and then goes on to the time at which the first of its sleepers is due. It
/// would otherwise race ahead of a thread that the machine has not run yet, up
/// to the deadline of the call.
class PacedClock final : public Clock {
 public:
  explicit PacedClock(FakeWorld& world) : world_(world) {}
  SteadyTime Now() const override { return world_.Now(); }
  WallTime WallNow() const override { return world_.WallNow(); }
  bool SleepUntil(SteadyTime time, std::stop_token stop) override;

 private:
  // Whether the time of the first sleeper may come now.
  bool AwaitIdleProcess(SteadyTime due, const std::stop_token& stop);

  FakeWorld& world_;
  Mutex mutex_;
  CondVar changed_;
  std::multiset<SteadyTime> due_ ABSL_GUARDED_BY(mutex_);  // of all sleepers
  // One of them looks at the process, and the others rest.
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace addons

#endif  // ADDONS_TESTS_FAKES_PACED_CLOCK_H_
