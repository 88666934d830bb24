#include "base/clock.h"

#include <condition_variable>
#include <mutex>

namespace addons {
namespace {

class SystemClock final : public Clock {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  bool SleepUntil(SteadyTime time, std::stop_token stop) override {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock<std::mutex> lock(mutex);
    wake.wait_until(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace

Clock& RealClock() {
  static auto* const clock = new SystemClock();
  return *clock;
}

}  // namespace addons
