#include "rpc/call_stats.h"

namespace addons {

void CallStats::Finished(const std::string& method, absl::StatusCode code,
                         std::chrono::nanoseconds took) {
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  CallCount& count = counts_[Key(method, code)];
  count.method = method;
  count.code = code;
  ++count.calls;
  count.total += took;
}

std::vector<CallCount> CallStats::Counts() const {
  const MutexLock lock(mutex_);
  std::vector<CallCount> counts;
  counts.reserve(counts_.size());
  for (const auto& [key, count] : counts_) counts.push_back(count);
  return counts;
}

}  // namespace addons
