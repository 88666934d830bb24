#ifndef ADDONS_OPERATION_OPERATION_INFO_H_
#define ADDONS_OPERATION_OPERATION_INFO_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "operation/operation_spec.h"
#include "operation/worker_share.h"

namespace addons {

/// Calls that were refused at once, by reason.
struct RefusedCalls {
  uint64_t waiting = 0;   // so many wait already
  uint64_t lane = 0;      // the queue of the lane is full
  uint64_t threads = 0;   // no thread could be started
  uint64_t stopping = 0;  // the table is shutting down

  friend bool operator==(const RefusedCalls&, const RefusedCalls&) = default;
};

/// Counters since the start, but for the last two.
struct OperationStats {
  uint64_t started = 0;     // given to a worker for the first time
  uint64_t finished = 0;    // of these: ended
  uint64_t joined = 0;      // calls that joined an operation
  uint64_t kept = 0;        // calls answered with a kept result
  uint64_t superseded = 0;  // operations ended for another verb
  uint64_t cancelled = 0;   // operations that an administrator cancelled
  uint64_t conflicts = 0;   // calls that gave up waiting for their keys
  RefusedCalls refused;
  size_t waiting = 0;  // calls that wait now
  size_t threads = 0;  // threads now
};

/// One line of OperationTable::List().
struct OperationInfo {
  uint64_t id = 0;
  std::string verb;
  std::string object;
  Lane lane = Lane::kControl;
  WorkerShare share;
  std::string step;
  std::string clock;           // OperationContext::TellClock()
  std::string request_id;      // of the call that started it
  bool running = false;        // false: still queued
  bool between_looks = false;  // running, but waiting for a state: no worker
  bool mutating = false;
  bool stopping = false;  // was asked to stop
  uint64_t done = 0;
  uint64_t total = 0;
  size_t callers = 0;
  std::chrono::milliseconds age{0};  // since its admission, by the clock
  /// It runs, and neither its step nor how far it is has changed for
  /// OperationLimits::watchdog, or longer.
  bool stuck = false;
  std::chrono::milliseconds idle{0};  // since that changed; 0: queued
};

/// How many OperationTable::Ended() remembers.
inline constexpr size_t kMostEndedOperations = 50;

/// One line of OperationTable::Ended().
struct EndedOperation {
  uint64_t id = 0;
  std::string verb;
  std::string object;
  std::string request_id;            // of the call that started it
  absl::Status status;               // its message cut to 500 bytes
  std::chrono::milliseconds age{0};  // from its admission to its end
  SteadyTime ended_at;               // by the table's clock
};

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_INFO_H_
