#ifndef ADDONS_OPERATION_TABLE_STATE_H_
#define ADDONS_OPERATION_TABLE_STATE_H_

#include <any>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
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
#include "operation/table/call.h"
#include "operation/table/kept_results.h"
#include "operation/table/lane_queue.h"
#include "operation/table/operation.h"

namespace addons {

/// Callers wait in real time, whatever the table's clock is.
inline SteadyTime RealNow() { return std::chrono::steady_clock::now(); }

/// The inside of OperationTable. Every decision about an operation (admit,
/// join, supersede, stop, begin to mutate, end) is made under one mutex;
/// nothing of others (work, stop callbacks, answers, logging) runs under it.
///
/// Shared by the table, the calls and the threads: a worker that is stuck keeps
/// it. Callers' side: callers.cc; what comes with time: timer.cc; workers'
/// side: workers.cc.
class TableState : public std::enable_shared_from_this<TableState> {
 public:
  using Result = Call::Result;

  TableState(const OperationLimits& limits, Clock& clock);

  void Start(OperationSpec spec, const Caller& caller, OperationWork work,
             std::function<void(Result)> on_answer);
  std::vector<OperationInfo> List() const;
  std::vector<EndedOperation> Ended() const;
  OperationStats stats() const;
  const OperationLimits& limits() const { return limits_; }
  absl::StatusOr<OperationInfo> Cancel(uint64_t id);
  std::vector<OperationInfo> Drain(std::chrono::milliseconds grace);
  /// Ends and joins all threads, or leaves them behind when one is stuck.
  void EndThreads();

  // For the operation's context.
  Clock& clock() const { return clock_; }
  void SetStep(Operation& operation, absl::string_view step);
  void SetClock(Operation& operation, absl::string_view clock);
  void SetProgress(Operation& operation, uint64_t done, uint64_t total);
  void SetPending(Operation& operation, absl::Status pending);
  absl::Status SleepFor(Operation& operation, SteadyDuration duration);
  absl::Status LookAgainAfter(Operation& operation, SteadyDuration duration);
  absl::Status BeginMutation(Operation& operation);
  bool IsMutating(const Operation& operation) const;
  std::optional<SteadyTime> LatestDeadline(const Operation& operation) const;

 private:
  class Context;
  enum class Counted { kNo, kYes };

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
  void Begin(const CallPtr& call, Counted counted);
  absl::Status SetTimes(Call& call) const;
  std::optional<absl::Status> Refusal(const Call& call, Counted counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WatchCaller(const CallPtr& call);
  void CallerHasGone(const CallPtr& call);
  void Consider(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ConsiderOrFail(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Considers all whose turn it may be now. Ends every locked section in which
  /// keys may have become free.
  void Settle(AfterUnlock& after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Prove(const CallPtr& call);
  void Proved(const CallPtr& call, const absl::Status& verdict);
  std::optional<Outcome> Decide(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<Outcome> Join(const CallPtr& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Supersede(Call& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outcome Admit(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(const CallPtr& call, Result result, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerAll(const OperationPtr& operation, const Result& result,
                 AfterUnlock& after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Takes the call out of everything that knows it.
  void Forget(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndIfNobodyWaits(const OperationPtr& operation, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Keys and those who wait for them.
  std::vector<OperationPtr> Holders(const OperationSpec& spec) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsFree(const OperationSpec& spec) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const Call* EarlierCall(const Call& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ConflictStatus(const Call& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeTicket(const CallPtr& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropTicket(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Settle() will consider those who wait for one of these keys.
  void CallWaiters(const OperationSpec& spec)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The end of operations.
  void Stop(const OperationPtr& operation, const absl::Status& reason,
            const std::optional<absl::Status>& answer, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopForShutdown(AfterUnlock& after, bool also_mutating)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// If no worker has it.
  void RemoveFromLane(const OperationPtr& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveParked(const OperationPtr& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(const OperationPtr& operation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// For Ended(). Without memory it is left out.
  void NoteEnd(const Operation& operation, const absl::Status& status) noexcept
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<OperationInfo> ListLocked() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Time.
  bool EnsureTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetTimer(const CallPtr& call, SteadyTime due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TimerLoop();
  SteadyTime NextTimer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FireTimers(AfterUnlock& after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TimeIsUp(const CallPtr& call, AfterUnlock& after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> Overdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookLoop();
  void LookAgainAtDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

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
  Result Perform(Operation& operation);
  Result PerformOrFail(Operation& operation) noexcept;
  static void LogLateEnd(const Operation& operation, const absl::Status& status,
                         SteadyDuration duration);
  /// Runs it, until it has ended or is parked.
  void Serve(const OperationPtr& operation);
  /// Gives its worker free until the next look. False: it cannot be parked.
  bool Park(const OperationPtr& operation);
  void Finish(const OperationPtr& operation, Result result);

  const OperationLimits limits_;
  Clock& clock_;  // not owned

  mutable Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  OperationStats stats_ ABSL_GUARDED_BY(mutex_);
  std::deque<EndedOperation> ended_ ABSL_GUARDED_BY(mutex_);  // newest last
  std::map<uint64_t, OperationPtr> operations_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, OperationPtr> holders_
      ABSL_GUARDED_BY(mutex_);
  /// By key, in the order of their tickets.
  std::unordered_map<std::string, std::vector<CallPtr>> waiters_
      ABSL_GUARDED_BY(mutex_);
  CallQueue<&Call::next_in_line> to_consider_ ABSL_GUARDED_BY(mutex_);
  KeptResults kept_ ABSL_GUARDED_BY(mutex_);
  LaneState control_ ABSL_GUARDED_BY(mutex_);
  LaneState bulk_ ABSL_GUARDED_BY(mutex_);
  LaneState read_ ABSL_GUARDED_BY(mutex_);
  CondVar operation_ended_;

  /// Of all calls that are not answered yet; real time.
  CallsByTime timers_ ABSL_GUARDED_BY(mutex_);
  bool timer_started_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime timer_sleeps_until_ ABSL_GUARDED_BY(mutex_);
  SteadyTime next_watch_ ABSL_GUARDED_BY(mutex_);
  CondVar timer_wake_;
  /// Between two looks; the table's clock.
  ParkedOperations parked_ ABSL_GUARDED_BY(mutex_);
  bool looks_started_ ABSL_GUARDED_BY(mutex_) = false;
  std::stop_source look_sleep_ ABSL_GUARDED_BY(mutex_);
  CondVar look_wake_;

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
