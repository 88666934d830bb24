#ifndef ADDONS_RPC_CALL_STATS_H_
#define ADDONS_RPC_CALL_STATS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace addons {

/// How many calls of a method ended with a code, and how long they took
/// together.
struct CallCount {
  std::string method;
  absl::StatusCode code = absl::StatusCode::kOk;
  uint64_t calls = 0;
  std::chrono::nanoseconds total{0};
};

/// Counts calls since the start. Thread-safe.
class CallStats {
 public:
  void Started() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  void Finished(const std::string& method, absl::StatusCode code,
                std::chrono::nanoseconds took);

  int64_t in_flight() const {
    return in_flight_.load(std::memory_order_relaxed);
  }
  /// Sorted by method, then code.
  std::vector<CallCount> Counts() const;

 private:
  using Key = std::pair<std::string, absl::StatusCode>;

  std::atomic<int64_t> in_flight_{0};
  mutable Mutex mutex_;
  std::map<Key, CallCount> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_RPC_CALL_STATS_H_
