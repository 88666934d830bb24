#ifndef ADDONS_BASE_CLOCK_H_
#define ADDONS_BASE_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

namespace addons {

using SteadyTime = std::chrono::steady_clock::time_point;
using SteadyDuration = std::chrono::steady_clock::duration;
using WallTime = std::chrono::system_clock::time_point;

/// Rounded towards zero.
constexpr int64_t WholeSeconds(SteadyDuration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}
constexpr int64_t WholeMilliseconds(SteadyDuration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration)
      .count();
}

/// The one source of time and of waiting, so that tests of operations need no
/// real seconds. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Monotonic time: all ages and deadlines are computed with it.
  virtual SteadyTime Now() const = 0;
  /// Wall-clock time, for logs and messages only.
  virtual WallTime WallNow() const = 0;
  /// Blocks until `time`, or until `stop` is requested. Returns false when
  /// stopped early.
  virtual bool SleepUntil(SteadyTime time, std::stop_token stop) = 0;
  /// The same for `duration` from now on.
  bool SleepFor(SteadyDuration duration, std::stop_token stop) {
    return SleepUntil(Now() + duration, std::move(stop));
  }
};

/// The machine's clocks. Never destroyed.
Clock& RealClock();

}  // namespace addons

#endif  // ADDONS_BASE_CLOCK_H_
