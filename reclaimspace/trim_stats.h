#ifndef ADDONS_RECLAIMSPACE_TRIM_STATS_H_
#define ADDONS_RECLAIMSPACE_TRIM_STATS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "reclaimspace/outcome_counts.h"

namespace addons {

/// How a trim of a mounted volume ended.
enum class TrimOutcome {
  kTrimmed,
  kUnsupported,  // filesystem or device cannot, or may not, discard
  kNotProved,    // what is mounted there is not proved to be the volume
  kStopped,      // by an administrator or a shutdown, or the volume went away
  kFailed,
};
inline constexpr size_t kTrimOutcomes = 5;

/// "not-proved" and the like, for metrics.
absl::string_view Name(TrimOutcome outcome);

/// Counts trims since the start. Thread-safe.
class TrimStats : public OutcomeCounts<TrimOutcome, kTrimOutcomes> {
 public:
  /// What filesystems said to have discarded, also of trims that did not come
  /// to their end.
  void AddTrimmedBytes(uint64_t bytes) {
    trimmed_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  uint64_t trimmed_bytes() const {
    return trimmed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> trimmed_bytes_{0};
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_TRIM_STATS_H_
