#ifndef ADDONS_TESTS_TESTING_MANUAL_CLOCK_H_
#define ADDONS_TESTS_TESTING_MANUAL_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons::testing {

/// A clock that stands still until it is moved. Thread-safe.
class ManualClock final : public Clock {
 public:
  /// What SleepUntil() does: move the time, or wait until Advance() has moved
  /// it far enough.
  enum class Sleep { kMovesTime, kWaits };

  explicit ManualClock(Sleep sleep = Sleep::kMovesTime) : sleep_(sleep) {}

  SteadyTime Now() const override {
    const MutexLock lock(mutex_);
    return now_;
  }
  WallTime WallNow() const override {
    return WallTime(Now().time_since_epoch());
  }
  bool SleepUntil(SteadyTime time, std::stop_token stop) override {
    if (sleep_ == Sleep::kMovesTime) {
      const MutexLock lock(mutex_);
      now_ = std::max(now_, time);
      changed_.NotifyAll();
      return !stop.stop_requested();
    }
    const std::stop_callback wake(stop, [this] {
      const MutexLock lock(mutex_);
      changed_.NotifyAll();
    });
    const MutexLock lock(mutex_);
    ++sleepers_;
    changed_.NotifyAll();
    while (now_ < time && !stop.stop_requested()) changed_.Wait(mutex_);
    --sleepers_;
    return now_ >= time;
  }
  void Advance(SteadyDuration duration) {
    const MutexLock lock(mutex_);
    now_ += duration;
    changed_.NotifyAll();
  }
  /// Waits until so many are inside SleepUntil().
  void AwaitSleepers(int count) {
    const MutexLock lock(mutex_);
    while (sleepers_ < count) changed_.Wait(mutex_);
  }

 private:
  const Sleep sleep_;
  mutable Mutex mutex_;
  CondVar changed_;
  // Long after zero, so that tests can look back.
  SteadyTime now_ ABSL_GUARDED_BY(mutex_) =
      SteadyTime(std::chrono::hours(1000));
  int sleepers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_MANUAL_CLOCK_H_
