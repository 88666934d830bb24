#ifndef ADDONS_OPERATION_OPERATION_TABLE_H_
#define ADDONS_OPERATION_OPERATION_TABLE_H_

#include <any>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/caller.h"
#include "base/clock.h"
#include "operation/operation_info.h"
#include "operation/operation_limits.h"
#include "operation/operation_spec.h"

namespace addons {

class TableState;

/// All operations that run in this process: an RPC waits for an operation, it
/// does not own it. Start() is the only way to change anything in Ceph.
///
/// For each call:
///  - nothing runs on its keys: the operation is queued on its lane and
///    started;
///  - the same verb with the same parameters runs on the same keys: it is
///    joined;
///  - another one runs that yields, or that has not begun to mutate and
///    `supersedes` is set: after `prove` that one is ended (its callers get
///    ABORTED naming the successor), then as above once it has ended;
///  - otherwise: waits until the keys are free, first come first served, for
///    Limits::conflict_wait and never past the caller's deadline, then ABORTED
///    naming verb, step and age of what runs.
///
/// The caller gets the result; or, shortly before its deadline (or max_wait),
/// what the operation set with SetPending() (default: ABORTED with verb, age
/// and step); or CANCELLED when it has gone. The operation goes on in the last
/// two cases under the rules of OperationContext.
///
/// A call that waits holds no thread, and an operation between two looks
/// (OperationContext::LookAgainAfter()) no worker.
///
/// With keep_result, an OK result that no caller was there to collect is given
/// to those who ask for the same within Limits::keep_results. It is forgotten
/// when other work changes something on one of its keys.
///
/// An operation without keys excludes nothing and is never joined or kept.
///
/// An exception that escapes from the work becomes INTERNAL. Thread-safe. All
/// waiting of *callers* uses real time; what an operation sees, and all ages,
/// are those of `clock`.
class OperationTable {
 public:
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

  /// What a call gets, once. It must not block, and is called on the caller's
  /// own thread, within Start(), or on another one. When it throws, it is
  /// destroyed, and that is all.
  using OnAnswer = std::function<void(absl::StatusOr<std::any>)>;

  /// Never blocks. Answers as described above; RESOURCE_EXHAUSTED when the
  /// lane's queue is full, or Limits::max_waiting calls wait already,
  /// UNAVAILABLE when the table is shutting down, DEADLINE_EXCEEDED when the
  /// deadline has passed already. `work` runs once, or never, or each time that
  /// it asks for that (OperationContext::LookAgainAfter()), and may outlive
  /// this call: it owns or shares all that it uses, and calls neither Start()
  /// nor Run() itself. It is destroyed before its keys are free again.
  /// An exception (no memory): the call is as if it never came.
  void Start(const OperationSpec& spec, const Caller& caller,
             OperationWork work, OnAnswer on_answer);
  /// Start(), and waits for the answer.
  absl::StatusOr<std::any> Run(const OperationSpec& spec, const Caller& caller,
                               OperationWork work);

  /// The oldest first.
  std::vector<OperationInfo> List() const;

  /// The last kMostEndedOperations that have ended, without those of the read
  /// lane and routine ones; the newest first.
  std::vector<EndedOperation> Ended() const;

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
  /// Shared with the workers: one that is stuck keeps it.
  std::shared_ptr<TableState> state_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_TABLE_H_
