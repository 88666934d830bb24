#ifndef ADDONS_BASE_SELDOM_H_
#define ADDONS_BASE_SELDOM_H_

#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// Lets something be done for a key only once in a while. For few keys, which
/// are never forgotten. Thread-safe.
class Seldom {
 public:
  /// `clock` is not owned.
  Seldom(Clock& clock, SteadyDuration interval)
      : clock_(clock), interval_(interval) {}

  /// true: it is to be done now, by the caller.
  bool TryTake(const std::string& key) {
    const MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const auto [last, first] = last_.try_emplace(key, now);
    if (!first && now - last->second < interval_) return false;
    last->second = now;
    return true;
  }

  /// It was not done after all.
  void GiveBack(const std::string& key) {
    const MutexLock lock(mutex_);
    last_.erase(key);
  }

 private:
  Clock& clock_;
  const SteadyDuration interval_;
  Mutex mutex_;
  std::map<std::string, SteadyTime> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_BASE_SELDOM_H_
