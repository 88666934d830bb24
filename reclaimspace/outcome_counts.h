#ifndef ADDONS_RECLAIMSPACE_OUTCOME_COUNTS_H_
#define ADDONS_RECLAIMSPACE_OUTCOME_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace addons {

/// Counts how often each of the `kOutcomes` values of the enum `Outcome` came
/// up since the start. Thread-safe.
template <typename Outcome, size_t kOutcomes>
class OutcomeCounts {
 public:
  void Count(Outcome outcome) {
    counts_[static_cast<size_t>(outcome)].fetch_add(1,
                                                    std::memory_order_relaxed);
  }
  uint64_t count(Outcome outcome) const {
    return counts_[static_cast<size_t>(outcome)].load(
        std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<uint64_t>, kOutcomes> counts_{};
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_OUTCOME_COUNTS_H_
