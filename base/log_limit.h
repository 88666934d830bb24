#ifndef ADDONS_BASE_LOG_LIMIT_H_
#define ADDONS_BASE_LOG_LIMIT_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace addons {

/// For a line of the log that would come again and again: lets one pass per
/// interval. Not thread-safe.
class LogLimit {
 public:
  explicit LogLimit(SteadyDuration interval) : interval_(interval) {}

  /// nullopt: leave the line out. Otherwise how many were left out before it.
  std::optional<uint64_t> Admit(SteadyTime now) {
    if (last_ && now - *last_ < interval_) {
      ++left_out_;
      return std::nullopt;
    }
    last_ = now;
    return std::exchange(left_out_, 0);
  }

 private:
  const SteadyDuration interval_;
  std::optional<SteadyTime> last_;
  uint64_t left_out_ = 0;
};

}  // namespace addons

#endif  // ADDONS_BASE_LOG_LIMIT_H_
