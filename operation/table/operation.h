#ifndef ADDONS_OPERATION_TABLE_OPERATION_H_
#define ADDONS_OPERATION_TABLE_OPERATION_H_

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operation/operation_info.h"
#include "operation/operation_spec.h"
#include "operation/table/call.h"

namespace addons {

using OperationPtr = std::shared_ptr<Operation>;
/// By the time of the next look, of the table's clock.
using ParkedOperations = std::multimap<SteadyTime, OperationPtr>;

/// One operation of the table, from its admission to its end. Shared by the
/// table, its worker and those who wait for it, because each of them may be the
/// last.
///
/// What is not const is guarded by the table's mutex, except `stop`
/// (thread-safe), and `work` and `memory`, which are the worker's while
/// one runs it.
struct Operation {
  Operation(uint64_t operation_id, OperationSpec what, std::string request,
            OperationWork how, SteadyTime now);

  const uint64_t id;
  const OperationSpec spec;  // keys sorted
  const std::string request_id;
  const SteadyTime admitted;  // all times are those of the table's clock

  OperationWork work;
  WorkMemory memory;  // OperationContext::memory()
  std::stop_source stop;

  bool running = false;  // or between two looks
  bool mutating = false;
  /// Set by the work, for the worker: it is to be run again after this time.
  std::optional<SteadyDuration> look_again_after;
  /// Between two looks, with no worker: its place among those.
  std::optional<ParkedOperations::iterator> parked;
  /// Set once, together with the request on `stop`: what the operation is told.
  std::optional<absl::Status> stop_reason;
  /// What those who wait get instead of the result.
  std::optional<absl::Status> answer;
  bool ended = false;
  /// Ended without a worker, so its work is left to who ended it.
  bool removed = false;
  OperationPtr next_stopped;  // of AfterUnlock

  absl::Status pending;  // OK: none
  std::string step;
  std::string clock;  // OperationContext::TellClock()
  uint64_t done = 0;
  uint64_t total = 0;
  SteadyTime last_progress;
  SteadyTime last_warning;
  /// Those who wait, by Call::clock_deadline.
  CallsByTime calls;
};

/// "promote of volume '...'".
std::string Name(const OperationSpec& spec);
/// "promote of volume '...' has been running for 45 s, step 'copying', 12 of
/// 64".
std::string Describe(const Operation& operation, SteadyTime now);
OperationInfo Info(const Operation& operation, SteadyTime now);
/// What a caller is told whose deadline comes before the result.
absl::Status PendingStatus(const Operation& operation, SteadyTime now);

/// What must not happen under the table's mutex, since it runs code of others:
/// done when this dies. Declare it before the lock.
class AfterUnlock {
 public:
  AfterUnlock() = default;
  ~AfterUnlock();
  AfterUnlock(const AfterUnlock&) = delete;
  AfterUnlock& operator=(const AfterUnlock&) = delete;

  /// Requests the stop of an operation, once for each, and destroys its work if
  /// it is `removed`. Never fails.
  void Stop(OperationPtr operation);
  /// Gives the call its `answer`. Never fails.
  void Answer(CallPtr call) { answered_.Push(std::move(call)); }
  /// Destroys its work: it waits for an operation that has one. Never fails.
  void DropWork(CallPtr call) { joined_.Push(std::move(call)); }
  void Do(std::function<void()> action) {
    actions_.push_back(std::move(action));
  }

 private:
  OperationPtr stopped_;
  CallQueue<&Call::next_answered> answered_;
  CallQueue<&Call::next_joined> joined_;
  std::vector<std::function<void()>> actions_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_OPERATION_H_
