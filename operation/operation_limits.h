#ifndef ADDONS_OPERATION_OPERATION_LIMITS_H_
#define ADDONS_OPERATION_OPERATION_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace addons {

struct LaneLimits {
  size_t workers = 0;              // at the same time
  size_t workers_per_cluster = 0;  // of these, at most so many for one share
  size_t queued = 0;               // beyond that RESOURCE_EXHAUSTED at once
};

struct OperationLimits {
  // A promote that waits for a demotion holds its worker, and the operator
  // works on a hundred volumes at a time.
  LaneLimits control{128, 112, 512};
  LaneLimits bulk{4, 2, 64};
  LaneLimits read{32, 24, 512};
  /// Calls that wait at the same time, those that joined an operation included;
  /// beyond that RESOURCE_EXHAUSTED at once. Each of them holds a thread.
  size_t max_waiting = 1200;
  std::chrono::milliseconds conflict_wait = std::chrono::seconds(20);
  std::chrono::milliseconds max_wait = std::chrono::seconds(165);
  /// A caller is answered so long before its deadline, so that it gets the
  /// answer (half of the time, when it has less than twice as much).
  std::chrono::milliseconds answer_margin = std::chrono::milliseconds(500);
  std::chrono::milliseconds keep_results = std::chrono::minutes(10);
  /// How often a caller's `cancelled` is asked. All else wakes who waits for
  /// it.
  std::chrono::milliseconds cancel_poll{50};
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
