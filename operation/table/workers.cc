// The workers' side of the table: threads, and the operation's context.

#include <algorithm>
#include <chrono>
#include <exception>
#include <typeinfo>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "operation/table/state.h"

namespace addons {
namespace {

/// Says only the type: what() may quote the request, secrets included.
absl::Status ExceptionStatus(const OperationSpec& spec,
                             absl::string_view type) {
  return absl::InternalError(
      FailedText(spec, absl::StrCat("unexpected exception ", type)));
}

}  // namespace

/// An operation's view of the table.
class TableState::Context final : public OperationContext {
 public:
  Context(TableState& state, Operation& operation)
      : state_(state), operation_(operation) {}

  Clock& clock() override { return state_.clock_; }
  void Step(absl::string_view step) override {
    state_.SetStep(operation_, step);
  }
  void TellClock(absl::string_view clock) override {
    state_.SetClock(operation_, clock);
  }
  void Progress(uint64_t done, uint64_t total) override {
    state_.SetProgress(operation_, done, total);
  }
  void SetPending(absl::Status pending) override {
    state_.SetPending(operation_, std::move(pending));
  }
  absl::Status SleepFor(SteadyDuration duration) override {
    return state_.SleepFor(operation_, duration);
  }
  absl::Status LookAgainAfter(SteadyDuration duration) override {
    return state_.LookAgainAfter(operation_, duration);
  }
  WorkMemory& memory() override { return operation_.memory; }
  absl::Status BeginMutation() override {
    return state_.BeginMutation(operation_);
  }
  bool mutating() const override { return state_.IsMutating(operation_); }
  std::optional<SteadyTime> LatestDeadline() const override {
    return state_.LatestDeadline(operation_);
  }
  std::stop_token stop_token() const override {
    return operation_.stop.get_token();
  }

 private:
  TableState& state_;  // the worker holds both
  Operation& operation_;
};

void TableState::SetStep(Operation& operation, absl::string_view step) {
  MutexLock lock(mutex_);
  if (operation.step == step) return;
  operation.step.assign(step.data(), step.size());
  operation.done = 0;  // Progress() is that of the step
  operation.total = 0;
  operation.last_progress = clock_.Now();
}

void TableState::SetClock(Operation& operation, absl::string_view clock) {
  MutexLock lock(mutex_);
  operation.clock.assign(clock.data(), clock.size());
}

void TableState::SetProgress(Operation& operation, uint64_t done,
                             uint64_t total) {
  MutexLock lock(mutex_);
  if (operation.done == done && operation.total == total) return;
  operation.done = done;
  operation.total = total;
  operation.last_progress = clock_.Now();
}

void TableState::SetPending(Operation& operation, absl::Status pending) {
  MutexLock lock(mutex_);
  operation.pending = std::move(pending);
}

absl::Status TableState::SleepFor(Operation& operation,
                                  SteadyDuration duration) {
  clock_.SleepFor(duration, operation.stop.get_token());
  MutexLock lock(mutex_);
  return operation.stop_reason.value_or(absl::OkStatus());
}

absl::Status TableState::LookAgainAfter(Operation& operation,
                                        SteadyDuration duration) {
  if (IsMutating(operation)) return SleepFor(operation, duration);
  MutexLock lock(mutex_);
  if (operation.stop_reason) return *operation.stop_reason;
  operation.look_again_after = duration;
  return RunAgain();
}

absl::Status TableState::BeginMutation(Operation& operation) {
  MutexLock lock(mutex_);
  if (operation.mutating) return absl::OkStatus();
  if (operation.stop_reason) return *operation.stop_reason;
  operation.mutating = true;
  operation.clock.clear();
  operation.last_progress = clock_.Now();
  LaneState& lane = LaneOf(operation.spec);
  lane.queue.BeginsToChange(operation.spec.share);
  if (lane.queue.ready() > 0) WakeWorker(lane);
  // Not before: until here its user may have no right to be heard at all.
  kept_.DropOthers(operation.spec);
  return absl::OkStatus();
}

bool TableState::IsMutating(const Operation& operation) const {
  MutexLock lock(mutex_);
  return operation.mutating;
}

std::optional<SteadyTime> TableState::LatestDeadline(
    const Operation& operation) const {
  MutexLock lock(mutex_);
  if (operation.calls.empty()) return std::nullopt;
  return operation.calls.rbegin()->first;
}

TableState::LaneState& TableState::LaneOf(const OperationSpec& spec) {
  switch (spec.lane) {
    case Lane::kBulk:
      return bulk_;
    case Lane::kRead:
      return read_;
    case Lane::kControl:
      break;
  }
  return control_;
}

bool TableState::EnsureThreads(LaneState& lane) {
  while (lane.threads < lane.queue.reserved()) {
    try {
      lane.idle.reserve(lane.threads +
                        1);  // a worker must not run out of memory
    } catch (const std::exception&) {
      break;
    }
    if (!StartWorker(lane.thread_name,
                     [&lane](TableState& state) { state.WorkerLoop(lane); })) {
      break;
    }
    ++lane.threads;
  }
  return lane.threads > 0;
}

bool TableState::StartWorker(const char* name,
                             std::function<void(TableState&)> loop) {
  // As many threads as the system allows, or has memory for: go on with those.
  try {
    std::list<std::jthread> started(1);
    auto thread = StartThread(name, [self = shared_from_this(),
                                     loop = std::move(loop)] { loop(*self); });
    if (!thread) return false;
    started.front() = *std::move(thread);
    threads_.splice(threads_.end(), started);
  } catch (const std::exception&) {
    return false;
  }
  ++live_threads_;
  return true;
}

void TableState::ThreadEnds() {
  MutexLock lock(mutex_);
  --live_threads_;
  thread_ended_.NotifyAll();
}

std::list<std::jthread> TableState::EndedBefore() {
  std::list<std::jthread> before;
  before.swap(ended_threads_);
  const auto self = std::find_if(
      threads_.begin(), threads_.end(), [](const std::jthread& thread) {
        return thread.get_id() == std::this_thread::get_id();
      });
  ended_threads_.splice(ended_threads_.end(), threads_, self);
  return before;
}

void TableState::WakeWorker(LaneState& lane) {
  EnsureThreads(lane);
  if (lane.idle.empty()) return;  // who ends its work looks for more
  lane.idle.back()->NotifyOne();
  lane.idle.pop_back();
}

void TableState::EndThreads() {
  const SteadyTime until =
      std::chrono::steady_clock::now() + limits_.stuck_wait;
  std::list<std::jthread> threads;
  std::vector<std::string> stuck;
  {
    {
      AfterUnlock after;
      MutexLock lock(mutex_);
      ending_ = true;
      for (LaneState* lane : {&control_, &bulk_, &read_}) {
        for (CondVar* worker : lane->idle) worker->NotifyOne();
      }
      timer_wake_.NotifyAll();
      look_wake_.NotifyAll();
      after.Do([sleep = look_sleep_]() mutable { sleep.request_stop(); });
    }
    MutexLock lock(mutex_);
    while (live_threads_ > 0 && thread_ended_.WaitUntil(mutex_, until)) {
    }
    if (live_threads_ == 0) {
      threads.swap(threads_);
      threads.splice(threads.end(), ended_threads_);
    } else {
      left_behind_ = shared_from_this();
      for (const auto& [id, operation] : operations_) {
        stuck.push_back(Describe(*operation, clock_.Now()));
      }
    }
  }
  if (!stuck.empty()) {
    Log().error("operations do not stop, their workers are left behind: {}",
                Quoted(absl::StrJoin(stuck, "; ")));
  }
  for (std::jthread& thread : threads) thread.join();
}

OperationPtr TableState::NextFor(LaneState& lane) {
  const SteadyTime until =
      std::chrono::steady_clock::now() + limits_.worker_idle;
  CondVar wake;
  bool in_time = true;
  for (;;) {
    // Also when time is up: there may be something just now.
    OperationPtr operation = TakeReady(lane);
    if (operation != nullptr || ending_ || !in_time) return operation;
    lane.idle.push_back(&wake);
    in_time = wake.WaitUntil(mutex_, until);
    std::erase(lane.idle, &wake);
  }
}

void TableState::WorkerLoop(LaneState& lane) {
  std::list<std::jthread> before;
  for (;;) {
    OperationPtr operation;
    {
      MutexLock lock(mutex_);
      operation = NextFor(lane);
      if (operation == nullptr) {
        --lane.threads;
        // At the end of the table all of them are joined by others.
        if (!ending_) before = EndedBefore();
        break;
      }
    }
    Serve(operation);
  }
  before.clear();  // joins; they have nothing to do any more
  ThreadEnds();
}

OperationPtr TableState::TakeReady(LaneState& lane) {
  const std::optional<uint64_t> id = lane.queue.Pop();
  if (!id) return nullptr;
  OperationPtr operation = operations_.at(*id);
  if (!operation->running) {
    operation->running = true;
    operation->last_progress = clock_.Now();
    operation->last_warning = operation->last_progress;
    ++stats_.started;
  }
  return operation;
}

void TableState::Serve(const OperationPtr& operation) {
  for (;;) {
    Result result = PerformOrFail(*operation);
    if (!operation->look_again_after) {
      Finish(operation, std::move(result));
      return;
    }
    if (Park(operation)) return;
    // It was asked to stop, or there is no thread or memory for parking.
    const absl::Status slept =
        SleepFor(*operation, *operation->look_again_after);
    if (slept.ok()) continue;
    operation->work = nullptr;
    Finish(operation, slept);
    return;
  }
}

// The work is destroyed here, unless it is run again: what it owns may call
// Ceph when it dies, so this must happen on the worker and before the keys are
// free.
TableState::Result TableState::Perform(Operation& operation) {
  absl::Cleanup destroy = [&operation] { operation.work = nullptr; };
  operation.look_again_after.reset();
  Context context(*this, operation);
  try {
    Result result = operation.work(context);
    if (!RunsAgain(result.status())) operation.look_again_after.reset();
    if (operation.look_again_after) std::move(destroy).Cancel();
    return result;
  } catch (const std::exception& e) {
    operation.look_again_after.reset();
    return ExceptionStatus(operation.spec, typeid(e).name());
  } catch (...) {
    operation.look_again_after.reset();
    return ExceptionStatus(operation.spec, "of an unknown type");
  }
}

// Whatever happens, the operation ends and its keys get free: without memory
// even for the text of the error, the error has none.
TableState::Result TableState::PerformOrFail(Operation& operation) noexcept {
  try {
    return Perform(operation);
  } catch (...) {
    return absl::Status(absl::StatusCode::kInternal, "");
  }
}

bool TableState::Park(const OperationPtr& operation) {
  AfterUnlock after;
  MutexLock lock(mutex_);
  if (operation->stop_reason) return false;
  if (!looks_started_) {
    looks_started_ =
        StartWorker("op-looks", [](TableState& state) { state.LookLoop(); });
  }
  if (!looks_started_) return false;
  const SteadyTime due = clock_.Now() + *operation->look_again_after;
  try {
    if (!parked_.empty() && due < parked_.begin()->first) {
      after.Do([sleep = look_sleep_]() mutable { sleep.request_stop(); });
    }
    operation->parked = parked_.emplace(due, operation);
  } catch (...) {  // no memory
    return false;
  }
  look_wake_.NotifyOne();
  LaneState& lane = LaneOf(operation->spec);
  lane.queue.Finish(operation->spec.share);
  if (lane.queue.ready() > 0) WakeWorker(lane);
  return true;
}

void TableState::Finish(const OperationPtr& operation, Result result) {
  const absl::Status status = result.status();
  SteadyDuration duration{0};
  bool outlived_its_callers = false;
  {
    AfterUnlock after;
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const OperationSpec& spec = operation->spec;
    const bool nobody_waits = operation->calls.empty();
    if (nobody_waits && spec.keep_result && result.ok() &&
        !operation->stop_reason) {
      try {
        kept_.Keep(spec, *result, now);
      } catch (...) {  // no memory: the retry runs it again
      }
    }
    duration = now - operation->admitted;
    outlived_its_callers = nobody_waits && operation->mutating;
    operation->ended = true;
    NoteEnd(*operation, status);
    AnswerAll(operation, result, after);
    ++stats_.finished;
    LaneState& lane = LaneOf(spec);
    lane.queue.Finish(spec.share, operation->mutating
                                      ? LaneQueue::Stage::kChanges
                                      : LaneQueue::Stage::kLooks);
    Release(operation);
    Settle(after);
    if (lane.queue.ready() > 0) WakeWorker(lane);
  }
  if (!outlived_its_callers) return;
  try {
    LogLateEnd(*operation, status, duration);
  } catch (...) {  // no memory for the line
  }
}

void TableState::LogLateEnd(const Operation& operation,
                            const absl::Status& status,
                            SteadyDuration duration) {
  Log().info(
      "operation ended after its callers had left req={} verb={} object={} "
      "code={} message={} dur_ms={}",
      Quoted(operation.request_id), Quoted(operation.spec.verb),
      Quoted(operation.spec.object), absl::StatusCodeToString(status.code()),
      Quoted(status.message()), WholeMilliseconds(duration));
}

}  // namespace addons
