// The workers' side of the table: threads, the operation's context, the
// watchdog.

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "operation/table_state.h"

namespace addons {
namespace {

int64_t Milliseconds(SteadyDuration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration)
      .count();
}

/// Says only the type: what() may quote the request, secrets included.
absl::Status ExceptionStatus(const OperationSpec& spec,
                             absl::string_view type) {
  return absl::InternalError(absl::StrCat("Failed to ", spec.verb, " ",
                                          spec.object,
                                          ": unexpected exception ", type));
}

/// A question that fails counts as a no: the work then finds out.
bool AskStillTrue(const OperationSpec& spec) {
  try {
    return spec.still_true();
  } catch (...) {
    return false;
  }
}

}  // namespace

/// An operation's view of the table.
class OperationTable::State::Context final : public OperationContext {
 public:
  Context(State& state, Operation& operation)
      : state_(state), operation_(operation) {}

  Clock& clock() override { return state_.clock_; }
  void Step(absl::string_view step) override {
    state_.SetStep(operation_, step);
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
  State& state_;  // the worker holds both
  Operation& operation_;
};

void OperationTable::State::SetStep(Operation& operation,
                                    absl::string_view step) {
  MutexLock lock(mutex_);
  if (operation.step == step) return;
  operation.step.assign(step.data(), step.size());
  operation.done = 0;  // Progress() is that of the step
  operation.total = 0;
  operation.last_progress = clock_.Now();
}

void OperationTable::State::SetProgress(Operation& operation, uint64_t done,
                                        uint64_t total) {
  MutexLock lock(mutex_);
  if (operation.done == done && operation.total == total) return;
  operation.done = done;
  operation.total = total;
  operation.last_progress = clock_.Now();
}

void OperationTable::State::SetPending(Operation& operation,
                                       absl::Status pending) {
  MutexLock lock(mutex_);
  operation.pending = std::move(pending);
}

absl::Status OperationTable::State::SleepFor(Operation& operation,
                                             SteadyDuration duration) {
  clock_.SleepFor(duration, operation.stop.get_token());
  MutexLock lock(mutex_);
  return operation.stop_reason.value_or(absl::OkStatus());
}

absl::Status OperationTable::State::BeginMutation(Operation& operation) {
  MutexLock lock(mutex_);
  if (operation.mutating) return absl::OkStatus();
  if (operation.stop_reason) return *operation.stop_reason;
  operation.mutating = true;
  operation.last_progress = clock_.Now();
  return absl::OkStatus();
}

bool OperationTable::State::IsMutating(const Operation& operation) const {
  MutexLock lock(mutex_);
  return operation.mutating;
}

std::optional<SteadyTime> OperationTable::State::LatestDeadline(
    const Operation& operation) const {
  MutexLock lock(mutex_);
  if (operation.deadlines.empty()) return std::nullopt;
  return *operation.deadlines.rbegin();
}

OperationTable::State::LaneState& OperationTable::State::LaneOf(
    const OperationSpec& spec) {
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

// Workers stay until the table ends: there are never more than a lane's bound,
// and an idle one costs little.
bool OperationTable::State::EnsureThreads(LaneState& lane) {
  while (lane.threads < lane.queue.reserved()) {
    if (!StartThread([&lane](State& state) { state.WorkerLoop(lane); })) break;
    ++lane.threads;
  }
  return lane.threads > 0;
}

bool OperationTable::State::StartThread(std::function<void(State&)> loop) {
  try {
    threads_.emplace_back(
        [self = shared_from_this(), loop = std::move(loop)] { loop(*self); });
  } catch (const std::system_error&) {
    return false;  // as many threads as the system allows: go on with those
  }
  ++live_threads_;
  return true;
}

void OperationTable::State::ThreadEnds() {
  MutexLock lock(mutex_);
  --live_threads_;
  thread_ended_.NotifyAll();
}

void OperationTable::State::WakeWorker(LaneState& lane) {
  EnsureThreads(lane);
  lane.work_ready.NotifyOne();
}

void OperationTable::State::EndThreads() {
  const SteadyTime until =
      std::chrono::steady_clock::now() + limits_.stuck_wait;
  std::list<std::thread> threads;
  std::vector<std::string> stuck;
  {
    MutexLock lock(mutex_);
    ending_ = true;
    control_.work_ready.NotifyAll();
    bulk_.work_ready.NotifyAll();
    read_.work_ready.NotifyAll();
    watchdog_wake_.NotifyAll();
    while (live_threads_ > 0 && thread_ended_.WaitUntil(mutex_, until)) {
    }
    if (live_threads_ == 0) {
      threads.swap(threads_);
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
  for (std::thread& thread : threads) thread.join();
}

void OperationTable::State::WorkerLoop(LaneState& lane) {
  for (;;) {
    OperationPtr operation;
    {
      MutexLock lock(mutex_);
      operation = TakeReady(lane);
      while (operation == nullptr && !ending_) {
        lane.work_ready.Wait(mutex_);
        operation = TakeReady(lane);
      }
    }
    if (operation == nullptr) break;
    Finish(operation, Perform(*operation));
  }
  ThreadEnds();
}

OperationTable::State::OperationPtr OperationTable::State::TakeReady(
    LaneState& lane) {
  const std::optional<uint64_t> id = lane.queue.Pop();
  if (!id) return nullptr;
  OperationPtr operation = operations_.at(*id);
  operation->running = true;
  operation->last_progress = clock_.Now();
  operation->last_warning = operation->last_progress;
  ++stats_.started;
  return operation;
}

std::optional<OperationTable::State::Result> OperationTable::State::CheckKept(
    Operation& operation) {
  if (!operation.kept) return std::nullopt;
  const bool still_true = AskStillTrue(operation.spec);
  MutexLock lock(mutex_);
  if (still_true) {
    ++stats_.kept;
    return Result(*operation.kept);
  }
  operation.kept.reset();
  kept_.Drop(operation.spec);
  if (operation.stop_reason) return *operation.stop_reason;
  return std::nullopt;
}

// The work is destroyed here: what it owns may call Ceph when it dies, so this
// must happen on the worker and before the keys are free.
OperationTable::State::Result OperationTable::State::Perform(
    Operation& operation) {
  const Work work = std::move(operation.work);
  if (std::optional<Result> kept = CheckKept(operation)) {
    return *std::move(kept);
  }
  Context context(*this, operation);
  try {
    return work(context);
  } catch (const std::exception& e) {
    return ExceptionStatus(operation.spec, typeid(e).name());
  } catch (...) {
    return ExceptionStatus(operation.spec, "of an unknown type");
  }
}

void OperationTable::State::Finish(const OperationPtr& operation,
                                   Result result) {
  const absl::Status status = result.status();
  SteadyDuration duration{0};
  bool outlived_its_callers = false;
  {
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const OperationSpec& spec = operation->spec;
    const bool nobody_waits = operation->deadlines.empty();
    if (nobody_waits && spec.keep_result && result.ok() && !operation->kept &&
        !operation->stop_reason) {
      kept_.Keep(spec, *result, now);
    }
    duration = now - operation->admitted;
    outlived_its_callers = nobody_waits && operation->mutating;
    operation->result = std::move(result);
    operation->changed.NotifyAll();
    ++stats_.finished;
    LaneState& lane = LaneOf(spec);
    lane.queue.Finish(spec.cluster);
    Release(operation);
    if (lane.queue.ready() > 0) WakeWorker(lane);
  }
  if (!outlived_its_callers) return;
  Log().info(
      "operation ended after its callers had left req={} verb={} object={} "
      "code={} message={} dur_ms={}",
      Quoted(operation->request_id), Quoted(operation->spec.verb),
      Quoted(operation->spec.object), absl::StatusCodeToString(status.code()),
      Quoted(status.message()), Milliseconds(duration));
}

void OperationTable::State::EnsureWatchdog() {
  if (limits_.watchdog.count() <= 0) return;
  if (!watchdog_started_) {
    watchdog_started_ = StartThread([](State& state) { state.WatchdogLoop(); });
  }
  if (operations_.size() == 1) watchdog_wake_.NotifyOne();
}

void OperationTable::State::WatchdogLoop() {
  using std::chrono::milliseconds;
  const milliseconds tick =
      std::clamp(limits_.watchdog / 4, milliseconds(10), milliseconds(10000));
  for (;;) {
    std::vector<std::string> lines;
    {
      MutexLock lock(mutex_);
      if (ending_) break;
      if (operations_.empty()) {
        watchdog_wake_.Wait(mutex_);
      } else {
        watchdog_wake_.WaitUntil(mutex_,
                                 std::chrono::steady_clock::now() + tick);
      }
      lines = Overdue();
    }
    for (const std::string& line : lines) Log().warn("{}", line);
  }
  ThreadEnds();
}

std::vector<std::string> OperationTable::State::Overdue() {
  const SteadyTime now = clock_.Now();
  std::vector<std::string> lines;
  for (const auto& [id, operation] : operations_) {
    const SteadyTime since =
        std::max(operation->last_progress, operation->last_warning);
    if (!operation->running || now - since < limits_.watchdog) continue;
    operation->last_warning = now;
    lines.push_back(absl::StrCat(
        "operation makes no progress id=", id, " req=",
        Quoted(operation->request_id), " verb=", Quoted(operation->spec.verb),
        " object=", Quoted(operation->spec.object),
        " step=", Quoted(operation->step), " done=", operation->done,
        " total=", operation->total,
        " idle_ms=", Milliseconds(now - operation->last_progress),
        " age_ms=", Milliseconds(now - operation->admitted)));
  }
  return lines;
}

}  // namespace addons
