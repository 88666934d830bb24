#ifndef ADDONS_RECLAIMSPACE_RECLAIM_STATS_H_
#define ADDONS_RECLAIMSPACE_RECLAIM_STATS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "reclaimspace/outcome_counts.h"

namespace addons {

/// How a reclaim of an image ended. Up to kErasureCoded it is OK to the caller.
enum class ReclaimOutcome {
  kSparsified,
  kInterrupted,  // somebody began to use the image in the middle
  kInUse,
  kSecondary,
  kSnapshots,
  kMigrating,
  kErasureCoded,  // its zeros would keep OSDs busy
  kOtherDaemon,
  kStopped,  // for another verb, an administrator or a shutdown
  kFailed,
};
inline constexpr size_t kReclaimOutcomes = 10;

/// "in-use" and the like, for logs and metrics.
absl::string_view Name(ReclaimOutcome outcome);

/// Counts reclaims since the start. Thread-safe.
class ReclaimStats : public OutcomeCounts<ReclaimOutcome, kReclaimOutcomes> {
 public:
  /// What was looked at for zeros, also by work that was stopped.
  void AddExaminedBytes(uint64_t bytes) {
    examined_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// What images used less afterwards, where it was measured.
  void AddFreedBytes(uint64_t bytes) {
    freed_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// All outcomes with their names.
  std::vector<std::pair<std::string, uint64_t>> Listed() const {
    std::vector<std::pair<std::string, uint64_t>> listed;
    for (size_t i = 0; i < kReclaimOutcomes; ++i) {
      const auto outcome = static_cast<ReclaimOutcome>(i);
      listed.emplace_back(Name(outcome), count(outcome));
    }
    return listed;
  }
  uint64_t examined_bytes() const {
    return examined_bytes_.load(std::memory_order_relaxed);
  }
  uint64_t freed_bytes() const {
    return freed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> examined_bytes_{0};
  std::atomic<uint64_t> freed_bytes_{0};
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_RECLAIM_STATS_H_
