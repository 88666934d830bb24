#ifndef ADDONS_OPERATION_OPERATION_LIMITS_H_
#define ADDONS_OPERATION_OPERATION_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace addons {

struct LaneLimits {
  /// At the same time. A share that has none gets one beyond that, so that
  /// clusters which hang never leave another one without.
  size_t workers = 0;
  size_t workers_per_cluster = 0;  // of these, at most so many for one share
  size_t queued = 0;               // beyond that RESOURCE_EXHAUSTED at once
  /// Of one share's workers, at most so many for operations that have not begun
  /// to change anything; 0: no further bound. To look is quick, a change is
  /// slow and waits for the monitors.
  size_t looking_per_cluster = 0;
};

struct OperationLimits {
  // A site fails over with all its volumes at once, and what is queued costs
  // little.
  LaneLimits control{128, 56, 4096, 8};
  LaneLimits bulk{4, 2, 64};
  LaneLimits read{32, 12, 4096};
  /// Calls that wait at the same time, those that joined an operation included;
  /// beyond that RESOURCE_EXHAUSTED at once. They hold memory, but no thread.
  size_t max_waiting = 16384;
  std::chrono::milliseconds conflict_wait = std::chrono::seconds(20);
  std::chrono::milliseconds max_wait = std::chrono::seconds(165);
  /// A caller is answered so long before its deadline, so that it gets the
  /// answer (half of the time, when it has less than twice as much).
  std::chrono::milliseconds answer_margin = std::chrono::milliseconds(500);
  std::chrono::milliseconds keep_results = std::chrono::minutes(10);
  /// The log names an operation that runs longer than this without progress,
  /// again and again after the same time; 0: never.
  std::chrono::milliseconds watchdog = std::chrono::minutes(5);
  /// A worker that had nothing to do for so long ends.
  std::chrono::milliseconds worker_idle = std::chrono::minutes(1);
  /// How long the destructor waits for operations that do not stop.
  std::chrono::milliseconds stuck_wait = std::chrono::seconds(10);
};

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_LIMITS_H_
