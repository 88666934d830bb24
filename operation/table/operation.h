#ifndef ADDONS_OPERATION_TABLE_OPERATION_H_
#define ADDONS_OPERATION_TABLE_OPERATION_H_

#include <any>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operation/operation_info.h"
#include "operation/operation_spec.h"

namespace addons {

/// One operation of the table, from its admission to its end. Shared by the
/// table, its worker and those who wait for it, because each of them may be the
/// last.
///
/// What is not const is guarded by the table's mutex, except `stop`
/// (thread-safe), and `work` and `kept`, which are the worker's once `running`
/// is set.
struct Operation {
  Operation(uint64_t operation_id, OperationSpec what, std::string request,
            OperationWork how, SteadyTime now);

  const uint64_t id;
  const OperationSpec spec;  // keys sorted
  const std::string request_id;
  const SteadyTime admitted;  // all times are those of the table's clock

  OperationWork work;
  std::optional<std::any> kept;  // to be given out if it is still true
  std::stop_source stop;

  bool running = false;
  bool mutating = false;
  /// Set once, together with the request on `stop`: what the operation is told.
  std::optional<absl::Status> stop_reason;
  /// What those who wait get instead of the result.
  std::optional<absl::Status> answer;
  std::optional<absl::StatusOr<std::any>> result;
  CondVar changed;  // `answer` or `result` was set

  absl::Status pending;  // OK: none
  std::string step;
  uint64_t done = 0;
  uint64_t total = 0;
  SteadyTime last_progress;
  SteadyTime last_warning;
  /// One for each of those who wait.
  std::multiset<SteadyTime> deadlines;
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

  bool empty() const { return stops_.empty() && works_.empty(); }
  void RequestStop(const std::stop_source& stop) { stops_.push_back(stop); }
  void Destroy(OperationWork work) { works_.push_back(std::move(work)); }

 private:
  std::vector<std::stop_source> stops_;
  std::vector<OperationWork> works_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_OPERATION_H_
