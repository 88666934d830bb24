#ifndef ADDONS_OPERATION_TABLE_STATE_H_
#define ADDONS_OPERATION_TABLE_STATE_H_

#include <any>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/caller.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operation/operation_info.h"
#include "operation/operation_limits.h"
#include "operation/operation_spec.h"
#include "operation/table/kept_results.h"
#include "operation/table/lane_queue.h"
#include "operation/table/operation.h"

namespace addons {

/// The inside of OperationTable. Every decision about an operation (admit,
/// join, supersede, stop, begin to mutate, end) is made under one mutex;
/// nothing of others (work, stop callbacks, `cancelled`, logging) runs under
/// it.
///
/// Shared by the table, the calls and the workers: a worker that is stuck keeps
/// it. Callers' side: callers.cc; workers' side: workers.cc.
class TableState : public std::enable_shared_from_this<TableState> {
 public:
  TableState(const OperationLimits& limits, Clock& clock);

  absl::StatusOr<std::any> Run(OperationSpec spec, const Caller& caller,
                               OperationWork work);
  /// The same for a call that is counted already.
  absl::StatusOr<std::any> RunCounted(OperationSpec spec, const Caller& caller,
                                      OperationWork work);
  std::vector<OperationInfo> List() const;
  OperationStats stats() const;
  const OperationLimits& limits() const { return limits_; }
  absl::StatusOr<OperationInfo> Cancel(uint64_t id);
  std::vector<OperationInfo> Drain(std::chrono::milliseconds grace);
  /// Ends and joins all threads, or leaves them behind when one is stuck.
  void EndThreads();

  // For the operation's context.
  Clock& clock() const { return clock_; }
  void SetStep(Operation& operation, absl::string_view step);
  void SetProgress(Operation& operation, uint64_t done, uint64_t total);
  void SetPending(Operation& operation, absl::Status pending);
  absl::Status SleepFor(Operation& operation, SteadyDuration duration);
  absl::Status BeginMutation(Operation& operation);
  bool IsMutating(const Operation& operation) const;
  std::optional<SteadyTime> LatestDeadline(const Operation& operation) const;

 private:
  class Context;
  using OperationPtr = std::shared_ptr<Operation>;
  using Result = absl::StatusOr<std::any>;

  /// One call inside Run(). Times are real, except `clock_deadline`.
  struct Call {
    Call(OperationSpec what, const Caller& who, OperationWork how);

    const OperationSpec spec;  // keys sorted, without duplicates
    const Caller& caller;
    OperationWork work;
    SteadyTime answer_at;   // without a result by then: the pending status
    SteadyTime give_up_at;  // keys not free by then: ABORTED
    SteadyTime clock_deadline;
    std::optional<uint64_t> ticket;  // place among those who wait for keys
    bool must_prove = false;         // it would end another operation
    bool proved = false;
    CondVar turn;
  };
  /// How a call goes on: with an answer, or with an operation to wait for.
  struct Outcome {
    std::optional<Result> answer;
    OperationPtr operation;
  };
  struct LaneState {
    LaneState(const char* name, const LaneLimits& limits)
        : thread_name(name), queue(limits) {}
    const char* const thread_name;
    LaneQueue queue;
    size_t threads = 0;
    /// Of each worker that has nothing to do. The last one is woken, so that
    /// those who are not needed stay idle, and end.
    std::vector<CondVar*> idle;
  };

  // Callers' side. `after` is for what must wait until the mutex is free.
  absl::Status SetTimes(Call& call) const;
  Outcome Obtain(Call& call);
  absl::Status Prove(const Call& call);
  std::optional<Outcome> Decide(Call& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Outcome> Join(const Call& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Supersede(Call& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outcome Admit(Call& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result Await(const Call& call, const OperationPtr& operation);
  std::optional<Result> AnswerNow(const Call& call, const Operation& operation,
                                  bool gone) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const Call& call, const OperationPtr& operation,
             AfterUnlock& after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Keys and those who wait for them.
  std::vector<OperationPtr> Holders(const OperationSpec& spec) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFree(const OperationSpec& spec) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Call* EarlierCall(const Call& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ConflictStatus(const Call& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeTicket(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropTicket(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyWaiters(const OperationSpec& spec)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The end of operations.
  void Stop(const OperationPtr& operation, const absl::Status& reason,
            const std::optional<absl::Status>& answer, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopForShutdown(AfterUnlock& after, bool also_mutating)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveUnstarted(const OperationPtr& operation, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(const OperationPtr& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<OperationInfo> ListLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Workers' side.
  LaneState& LaneOf(const OperationSpec& spec)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// False when the lane has no thread at all and none could be started.
  bool EnsureThreads(LaneState& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool StartWorker(const char* name, std::function<void(TableState&)> loop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ThreadEnds();
  /// Takes out the calling thread; the result is what ended before it and is to
  /// be joined. Ended threads keep their stacks until then.
  std::list<std::jthread> EndedBefore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Gives what is ready to a worker.
  void WakeWorker(LaneState& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WorkerLoop(LaneState& lane);
  /// Waits for work; nullptr: there was none for Limits::worker_idle, or the
  /// table ends, and so does the worker.
  OperationPtr NextFor(LaneState& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  OperationPtr TakeReady(LaneState& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Result> CheckKept(Operation& operation);
  Result Perform(Operation& operation);
  Result PerformOrFail(Operation& operation) noexcept;
  static void LogLateEnd(const Operation& operation, const absl::Status& status,
                         SteadyDuration duration);
  void Finish(const OperationPtr& operation, Result result);
  void EnsureWatchdog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WatchdogLoop();
  std::vector<std::string> Overdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const OperationLimits limits_;
  Clock& clock_;  // not owned

  mutable Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  OperationStats stats_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, OperationPtr> operations_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, OperationPtr> holders_
      ABSL_GUARDED_BY(mutex_);
  /// By key, in the order of their tickets. A Call lives on its caller's stack.
  std::unordered_map<std::string, std::vector<Call*>> waiters_
      ABSL_GUARDED_BY(mutex_);
  KeptResults kept_ ABSL_GUARDED_BY(mutex_);
  LaneState control_ ABSL_GUARDED_BY(mutex_);
  LaneState bulk_ ABSL_GUARDED_BY(mutex_);
  LaneState read_ ABSL_GUARDED_BY(mutex_);
  CondVar operation_ended_;

  bool watchdog_started_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar watchdog_wake_;
  std::list<std::jthread> threads_ ABSL_GUARDED_BY(mutex_);
  std::list<std::jthread> ended_threads_ ABSL_GUARDED_BY(mutex_);
  size_t live_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  CondVar thread_ended_;
  /// Set when workers are left behind: neither they nor this are ever
  /// destroyed.
  std::shared_ptr<TableState> left_behind_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_STATE_H_
