#ifndef ADDONS_OPERATION_OPERATION_TABLE_H_
#define ADDONS_OPERATION_OPERATION_TABLE_H_

#include <any>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/caller.h"
#include "base/clock.h"
#include "operation/operation_context.h"

namespace addons {

/// kControl: failover and configuration. kBulk: work that may run for hours.
/// kRead: questions; they never mutate, and share no keys with what does. They
/// have their own workers, so that a failover never queues behind a trim.
enum class Lane { kControl, kBulk, kRead };
inline constexpr std::array<Lane, 3> kLanes = {Lane::kControl, Lane::kBulk,
                                               Lane::kRead};
/// "control" and the like.
absl::string_view Name(Lane lane);

/// What is to be done, as the table needs to know it.
struct OperationSpec {
  std::vector<std::string> keys;  // of all objects concerned; no order needed
  std::string cluster;            // share of workers; e.g. the cluster id
  std::string verb;               // "promote"
  std::string object;             // "volume '0001-...'": for messages
  std::string parameters;         // verb + parameters = what may be joined
  Lane lane = Lane::kControl;
  bool supersedes =
      false;  // ends another verb that has not changed anything yet
  /// Work for hours that can stop at any moment and be begun again: gives way
  /// to every verb on its keys that does not yield itself, and to a shutdown,
  /// also after its first change.
  bool yields = false;
  /// Keep an OK result for the retry when no caller was there to collect it.
  bool keep_result = false;
  /// Asked before a kept result is given out; false drops it. May block; may be
  /// empty.
  std::function<bool()> still_true;
};

struct LaneLimits {
  size_t workers = 0;              // at the same time
  size_t workers_per_cluster = 0;  // of these, at most so many for one cluster
  size_t queued = 0;               // beyond that RESOURCE_EXHAUSTED at once
};

struct OperationLimits {
  // A promote that waits for a demotion holds its worker, and the operator
  // works on a hundred volumes at a time.
  LaneLimits control{128, 112, 512};
  LaneLimits bulk{4, 2, 64};
  LaneLimits read{32, 24, 512};
  std::chrono::milliseconds conflict_wait = std::chrono::seconds(20);
  std::chrono::milliseconds max_wait = std::chrono::seconds(165);
  /// A caller is answered so long before its deadline, so that it gets the
  /// answer (half of the time, when it has less than twice as much).
  std::chrono::milliseconds answer_margin = std::chrono::milliseconds(500);
  std::chrono::milliseconds keep_results = std::chrono::minutes(10);
  /// The log names an operation that runs longer than this without progress,
  /// again and again after the same time; 0: never.
  std::chrono::milliseconds watchdog = std::chrono::minutes(5);
  /// How long the destructor waits for operations that do not stop.
  std::chrono::milliseconds stuck_wait = std::chrono::seconds(10);
};

/// Counters since the start. started - finished operations are with a worker
/// now.
struct OperationStats {
  uint64_t started = 0;     // given to a worker
  uint64_t finished = 0;    // their work has returned
  uint64_t joined = 0;      // calls that joined an operation
  uint64_t kept = 0;        // calls answered with a kept result
  uint64_t superseded = 0;  // operations ended for another verb
  uint64_t cancelled = 0;   // operations that an administrator cancelled
  uint64_t conflicts = 0;   // calls that gave up waiting for their keys
  uint64_t refused = 0;     // calls refused: lane full or shutting down
};

/// One line of OperationTable::List().
struct OperationInfo {
  uint64_t id = 0;
  std::string verb;
  std::string object;
  Lane lane = Lane::kControl;
  std::string cluster;  // whose share of the lane it uses
  std::string step;
  std::string request_id;  // of the call that started it
  bool running = false;    // false: still queued
  bool mutating = false;
  bool stopping = false;  // was asked to stop
  uint64_t done = 0;
  uint64_t total = 0;
  size_t callers = 0;
  std::chrono::milliseconds age{0};  // since its admission, by the clock
};

/// All operations that run in this process: an RPC waits for an operation, it
/// does not own it. Run() is the only way to change anything in Ceph.
///
/// For each call:
///  - nothing runs on its keys: the operation is queued on its lane and
///    started;
///  - the same verb with the same parameters runs on the same keys: it is
///    joined;
///  - another one runs that yields, or that has not begun to mutate and
///    `supersedes` is set: that one is ended (its callers get ABORTED naming
///    the successor), then as above once it has ended;
///  - otherwise: waits until the keys are free, first come first served, for
///    Limits::conflict_wait and never past the caller's deadline, then ABORTED
///    naming verb, step and age of what runs.
///
/// The caller gets the result; or, shortly before its deadline (or max_wait),
/// what the operation set with SetPending() (default: ABORTED with verb, age
/// and step); or CANCELLED when it has gone. The operation goes on in the last
/// two cases under the rules of OperationContext.
///
/// With keep_result, an OK result that no caller was there to collect is given
/// to those who ask for the same within Limits::keep_results. It is forgotten
/// when other work is admitted on one of its keys. `still_true` is asked by a
/// worker that holds the keys, so it neither races with other work nor holds a
/// caller beyond its deadline; after a "no" the work runs.
///
/// An operation without keys excludes nothing and is never joined or kept.
///
/// An exception that escapes from the work becomes INTERNAL. Thread-safe. All
/// waiting of *callers* uses real time; what an operation sees, and all ages,
/// are those of `clock`.
class OperationTable {
 public:
  using Work = std::function<absl::StatusOr<std::any>(OperationContext&)>;

  /// `clock` is not owned and outlives the table.
  OperationTable(OperationLimits limits, Clock& clock);
  /// Drains without grace, then waits until all workers have ended. Threads are
  /// never detached: when an operation is stuck in a Ceph call for longer than
  /// Limits::stuck_wait, that is logged as an error and the workers stay behind
  /// with what they use of the table, for a process that is about to end.
  /// (Whoever can, calls Drain() first and ends the process when it names a
  /// stuck operation.)
  ~OperationTable();
  OperationTable(const OperationTable&) = delete;
  OperationTable& operator=(const OperationTable&) = delete;

  /// Blocks as described above. RESOURCE_EXHAUSTED when the lane's queue is
  /// full, UNAVAILABLE when the table is shutting down, DEADLINE_EXCEEDED when
  /// the deadline has passed already. `work` runs once or never, and may
  /// outlive this call: it owns or shares all that it uses, and does not call
  /// Run() itself. It is destroyed by the worker before its keys are free
  /// again.
  absl::StatusOr<std::any> Run(const OperationSpec& spec, const Caller& caller,
                               Work work);

  /// The oldest first.
  std::vector<OperationInfo> List() const;

  OperationStats stats() const;
  const OperationLimits& limits() const;

  /// Asks an operation to stop; NOT_FOUND when there is none with this id. Does
  /// not wait. A mutation that cannot be stopped goes on, and so do those who
  /// wait for it; before a mutation they get CANCELLED at once. Returns what it
  /// was just before.
  absl::StatusOr<OperationInfo> Cancel(uint64_t id);

  /// No new operations; waits until the running ones have ended, at most
  /// `grace`; then requests stop on the rest. Returns what still runs (empty:
  /// all ended). Operations that have not begun to mutate are ended at once,
  /// and all calls that are left waiting get UNAVAILABLE. May be called again,
  /// to wait longer.
  std::vector<OperationInfo> Drain(std::chrono::milliseconds grace);

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_TABLE_H_
