// The callers' side of the table: admit, join, supersede, wait, give up.

#include "operation/operation_table.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/table_state.h"

namespace addons {
namespace {

/// How often a caller's `cancelled` is asked.
constexpr SteadyDuration kPoll = std::chrono::milliseconds(50);
/// Deadlines beyond this are as good as none and must not overflow.
constexpr SteadyDuration kLongest = std::chrono::hours(24 * 365);
constexpr size_t kMostKeptResults = 1024;

/// Callers wait in real time, whatever the table's clock is.
SteadyTime RealNow() { return std::chrono::steady_clock::now(); }

OperationSpec WithSortedKeys(OperationSpec spec) {
  std::sort(spec.keys.begin(), spec.keys.end());
  spec.keys.erase(std::unique(spec.keys.begin(), spec.keys.end()),
                  spec.keys.end());
  return spec;
}

std::string Failed(const OperationSpec& spec, absl::string_view cause) {
  return absl::StrCat("Failed to ", spec.verb, " ", spec.object, ": ", cause);
}

bool HasGone(const Caller& caller) {
  return caller.cancelled && caller.cancelled();
}

absl::Status GoneStatus(const OperationSpec& spec) {
  return absl::CancelledError(Failed(spec, "the caller has gone"));
}

}  // namespace

OperationTable::OperationTable(OperationLimits limits, Clock& clock)
    : state_(std::make_shared<State>(limits, clock)) {}

OperationTable::~OperationTable() {
  state_->Drain(std::chrono::milliseconds(0));
  state_->EndThreads();
}

absl::StatusOr<std::any> OperationTable::Run(const OperationSpec& spec,
                                             const Caller& caller, Work work) {
  const std::shared_ptr<State> state = state_;
  return state->Run(spec, caller, std::move(work));
}

std::vector<OperationInfo> OperationTable::List() const {
  return state_->List();
}

OperationStats OperationTable::stats() const { return state_->stats(); }

const OperationLimits& OperationTable::limits() const {
  return state_->limits();
}

absl::StatusOr<OperationInfo> OperationTable::Cancel(uint64_t id) {
  return state_->Cancel(id);
}

std::vector<OperationInfo> OperationTable::Drain(
    std::chrono::milliseconds grace) {
  return state_->Drain(grace);
}

OperationTable::State::State(const OperationLimits& limits, Clock& clock)
    : limits_(limits),
      clock_(clock),
      kept_(kMostKeptResults, limits.keep_results),
      control_(limits.control),
      bulk_(limits.bulk),
      read_(limits.read) {}

OperationTable::State::Call::Call(OperationSpec what, const Caller& who,
                                  Work how)
    : spec(WithSortedKeys(std::move(what))),
      caller(who),
      work(std::move(how)) {}

OperationTable::State::Result OperationTable::State::Run(OperationSpec spec,
                                                         const Caller& caller,
                                                         Work work) {
  Call call(std::move(spec), caller, std::move(work));
  ADDONS_RETURN_IF_ERROR(SetTimes(call));
  Outcome outcome = Obtain(call);
  if (outcome.answer) return *std::move(outcome.answer);
  return Await(call, outcome.operation);
}

absl::Status OperationTable::State::SetTimes(Call& call) const {
  const SteadyTime now = RealNow();
  SteadyDuration wait = limits_.max_wait;
  if (call.caller.deadline) {
    if (*call.caller.deadline <= now) {
      return absl::DeadlineExceededError(
          Failed(call.spec, "the deadline has passed already"));
    }
    wait = std::min(*call.caller.deadline - now, kLongest);
    // A short deadline still leaves time to do something.
    wait -= std::min<SteadyDuration>(limits_.answer_margin, wait / 2);
  }
  call.answer_at = now + wait;
  call.give_up_at = std::min(call.answer_at, now + limits_.conflict_wait);
  call.clock_deadline = clock_.Now() + wait;
  return absl::OkStatus();
}

OperationTable::State::Outcome OperationTable::State::Obtain(Call& call) {
  while (!HasGone(call.caller)) {
    AfterUnlock after;
    MutexLock lock(mutex_);
    std::optional<Outcome> outcome = Decide(call, after);
    if (outcome) {
      DropTicket(call);
      return *std::move(outcome);
    }
    TakeTicket(call);
    if (after.empty()) {
      call.turn.WaitUntil(mutex_, std::min(call.give_up_at, RealNow() + kPoll));
    }
  }
  MutexLock lock(mutex_);
  DropTicket(call);
  return {GoneStatus(call.spec), nullptr};
}

// Also after each wait: whatever was seen before it may have changed.
std::optional<OperationTable::State::Outcome> OperationTable::State::Decide(
    Call& call, AfterUnlock& after) {
  if (draining_) {
    ++stats_.refused;
    return Outcome{absl::UnavailableError(
                       Failed(call.spec, "the server is shutting down")),
                   nullptr};
  }
  if (std::optional<Outcome> joined = Join(call)) return joined;
  const bool first_look = !call.ticket;
  const bool in_time = RealNow() < call.give_up_at;
  if (first_look || in_time) Supersede(call, after);
  if (IsFree(call.spec) && EarlierCall(call) == nullptr) {
    return Admit(call, after);
  }
  if (in_time) return std::nullopt;
  ++stats_.conflicts;
  return Outcome{ConflictStatus(call), nullptr};
}

std::optional<OperationTable::State::Outcome> OperationTable::State::Join(
    const Call& call) {
  if (call.spec.keys.empty()) return std::nullopt;
  const auto it = holders_.find(call.spec.keys.front());
  if (it == holders_.end()) return std::nullopt;
  const OperationPtr& operation = it->second;
  // One that was asked to stop has no result to wait for.
  if (operation->stop_reason || !IsSameWork(operation->spec, call.spec)) {
    return std::nullopt;
  }
  operation->deadlines.insert(call.clock_deadline);
  ++stats_.joined;
  return Outcome{std::nullopt, operation};
}

void OperationTable::State::Supersede(const Call& call, AfterUnlock& after) {
  const std::vector<OperationPtr> holders = Holders(call.spec);
  // All or none: ending some of them is no use while another one goes on.
  for (const OperationPtr& holder : holders) {
    const bool same = holder->spec.verb == call.spec.verb &&
                      holder->spec.parameters == call.spec.parameters;
    const bool gives_way = (holder->spec.yields && !call.spec.yields) ||
                           (call.spec.supersedes && !holder->mutating);
    if (!gives_way || (same && !holder->stop_reason)) return;
  }
  for (const OperationPtr& holder : holders) {
    if (holder->stop_reason) continue;
    const absl::Status status = absl::AbortedError(
        absl::StrCat(Name(holder->spec), " was superseded by ", call.spec.verb,
                     " (request ", call.caller.request_id, ")"));
    ++stats_.superseded;
    Stop(holder, status, status, after);
  }
}

OperationTable::State::Outcome OperationTable::State::Admit(
    Call& call, AfterUnlock& after) {
  const std::any* kept = kept_.Find(call.spec, clock_.Now());
  if (kept != nullptr && !call.spec.still_true) {
    ++stats_.kept;
    return {Result(*kept), nullptr};
  }
  LaneState& lane = LaneOf(call.spec);
  const uint64_t id = next_id_++;
  if (lane.queue.Push(id, call.spec.cluster) == LaneQueue::Place::kFull) {
    ++stats_.refused;
    return {absl::ResourceExhaustedError(Failed(
                call.spec,
                absl::StrCat("all workers are busy and ", lane.queue.queued(),
                             " operations wait for one; repeat the call "
                             "later"))),
            nullptr};
  }
  auto operation =
      std::make_shared<Operation>(id, call.spec, call.caller.request_id,
                                  std::move(call.work), clock_.Now());
  if (kept != nullptr) operation->kept = *kept;
  operations_.emplace(id, operation);
  for (const std::string& key : call.spec.keys) holders_[key] = operation;
  if (!EnsureThreads(lane)) {
    RemoveUnstarted(operation, after);
    ++stats_.refused;
    return {absl::ResourceExhaustedError(
                Failed(call.spec, "no thread could be started for it")),
            nullptr};
  }
  kept_.DropOthers(call.spec);
  operation->deadlines.insert(call.clock_deadline);
  WakeWorker(lane);
  EnsureWatchdog();
  return {std::nullopt, std::move(operation)};
}

OperationTable::State::Result OperationTable::State::Await(
    const Call& call, const OperationPtr& operation) {
  for (;;) {
    const bool gone = HasGone(call.caller);
    AfterUnlock after;
    MutexLock lock(mutex_);
    std::optional<Result> answer = AnswerNow(call, *operation, gone);
    if (!answer) {
      operation->changed.WaitUntil(mutex_,
                                   std::min(call.answer_at, RealNow() + kPoll));
      answer = AnswerNow(call, *operation, /*gone=*/false);
    }
    if (answer) {
      Leave(call, operation, after);
      return *std::move(answer);
    }
  }
}

std::optional<OperationTable::State::Result> OperationTable::State::AnswerNow(
    const Call& call, const Operation& operation, bool gone) const {
  if (operation.answer) return *operation.answer;
  if (operation.result) return operation.result;
  if (gone) return GoneStatus(call.spec);
  if (RealNow() < call.answer_at) return std::nullopt;
  return PendingStatus(operation, clock_.Now());
}

void OperationTable::State::Leave(const Call& call,
                                  const OperationPtr& operation,
                                  AfterUnlock& after) {
  const auto it = operation->deadlines.find(call.clock_deadline);
  if (it != operation->deadlines.end()) operation->deadlines.erase(it);
  if (!operation->deadlines.empty() || operation->result ||
      operation->mutating) {
    return;
  }
  Stop(operation,
       absl::CancelledError(absl::StrCat("nobody waits for ",
                                         Name(operation->spec), " any more")),
       std::nullopt, after);
}

std::vector<OperationTable::State::OperationPtr> OperationTable::State::Holders(
    const OperationSpec& spec) const {
  std::vector<OperationPtr> holders;
  for (const std::string& key : spec.keys) {
    const auto it = holders_.find(key);
    if (it == holders_.end()) continue;
    if (std::find(holders.begin(), holders.end(), it->second) ==
        holders.end()) {
      holders.push_back(it->second);
    }
  }
  return holders;
}

bool OperationTable::State::IsFree(const OperationSpec& spec) const {
  for (const std::string& key : spec.keys) {
    if (holders_.contains(key)) return false;
  }
  return true;
}

// First come, first served, except that a call which needs several keys and
// cannot have them all yet does not hold back those who need one of them.
const OperationTable::State::Call* OperationTable::State::EarlierCall(
    const Call& call) const {
  for (const std::string& key : call.spec.keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    for (const Call* other : it->second) {
      if (call.ticket && *other->ticket >= *call.ticket) break;
      if (IsFree(other->spec)) return other;
    }
  }
  return nullptr;
}

absl::Status OperationTable::State::ConflictStatus(const Call& call) const {
  const std::vector<OperationPtr> holders = Holders(call.spec);
  if (!holders.empty()) {
    const Operation& holder = *holders.front();
    return absl::AbortedError(
        Failed(call.spec,
               absl::StrCat(Describe(holder, clock_.Now()), " (request ",
                            holder.request_id, ")",
                            holder.stop_reason ? " and was asked to stop" : "",
                            "; repeat the call later")));
  }
  const Call* earlier = EarlierCall(call);
  return absl::AbortedError(Failed(
      call.spec, absl::StrCat(earlier != nullptr ? Name(earlier->spec)
                                                 : "another operation",
                              " waits before it; repeat the call later")));
}

void OperationTable::State::TakeTicket(Call& call) {
  if (call.ticket) return;
  call.ticket = next_ticket_++;
  for (const std::string& key : call.spec.keys) {
    waiters_[key].push_back(&call);
  }
}

void OperationTable::State::DropTicket(Call& call) {
  if (!call.ticket) return;
  call.ticket.reset();
  for (const std::string& key : call.spec.keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    std::erase(it->second, &call);
    if (it->second.empty()) waiters_.erase(it);
  }
  NotifyWaiters(call.spec);
}

void OperationTable::State::NotifyWaiters(const OperationSpec& spec) {
  for (const std::string& key : spec.keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    for (Call* waiter : it->second) waiter->turn.NotifyOne();
  }
}

void OperationTable::State::Stop(const OperationPtr& operation,
                                 const absl::Status& reason,
                                 const std::optional<absl::Status>& answer,
                                 AfterUnlock& after) {
  if (operation->result) return;
  if (answer && !operation->answer) {
    operation->answer = answer;
    operation->changed.NotifyAll();
  }
  if (operation->stop_reason) return;
  operation->stop_reason = reason;
  after.RequestStop(operation->stop);
  if (!operation->running) RemoveUnstarted(operation, after);
}

void OperationTable::State::RemoveUnstarted(const OperationPtr& operation,
                                            AfterUnlock& after) {
  LaneState& lane = LaneOf(operation->spec);
  lane.queue.Remove(operation->id);
  after.Destroy(std::move(operation->work));
  Release(operation);
  if (lane.queue.ready() > 0) WakeWorker(lane);
}

void OperationTable::State::Release(const OperationPtr& operation) {
  for (const std::string& key : operation->spec.keys) holders_.erase(key);
  NotifyWaiters(operation->spec);
  operations_.erase(operation->id);
  if (operations_.empty()) operation_ended_.NotifyAll();
}

std::vector<OperationInfo> OperationTable::State::List() const {
  MutexLock lock(mutex_);
  return ListLocked();
}

std::vector<OperationInfo> OperationTable::State::ListLocked() const {
  const SteadyTime now = clock_.Now();
  std::vector<OperationInfo> list;
  list.reserve(operations_.size());
  for (const auto& [id, operation] : operations_) {
    list.push_back(Info(*operation, now));
  }
  return list;
}

OperationStats OperationTable::State::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

absl::StatusOr<OperationInfo> OperationTable::State::Cancel(uint64_t id) {
  AfterUnlock after;
  MutexLock lock(mutex_);
  const auto it = operations_.find(id);
  if (it == operations_.end()) {
    return absl::NotFoundError(
        absl::StrCat("Failed to cancel operation ", id,
                     ": no operation with this id is running or queued"));
  }
  const OperationPtr operation = it->second;
  OperationInfo before = Info(*operation, clock_.Now());
  const absl::Status reason = absl::CancelledError(absl::StrCat(
      Name(operation->spec), " was cancelled by the administrator"));
  if (!operation->stop_reason) ++stats_.cancelled;
  Stop(operation, reason,
       operation->mutating ? std::nullopt : std::make_optional(reason), after);
  return before;
}

void OperationTable::State::StopForShutdown(AfterUnlock& after,
                                            bool also_mutating) {
  const std::map<uint64_t, OperationPtr> operations = operations_;
  for (const auto& [id, operation] : operations) {
    if (operation->mutating && !operation->spec.yields && !also_mutating) {
      continue;
    }
    const absl::string_view cause =
        operation->mutating
            ? "the server is shutting down while it runs; repeat the call to "
              "learn its outcome"
            : "the server is shutting down; repeat the call";
    Stop(operation, absl::CancelledError(Failed(operation->spec, cause)),
         absl::UnavailableError(Failed(operation->spec, cause)), after);
  }
}

std::vector<OperationInfo> OperationTable::State::Drain(
    std::chrono::milliseconds grace) {
  const SteadyTime until = RealNow() + grace;
  {
    AfterUnlock after;
    MutexLock lock(mutex_);
    draining_ = true;
    for (const auto& [key, waiters] : waiters_) {
      for (Call* waiter : waiters) waiter->turn.NotifyOne();
    }
    StopForShutdown(after, /*also_mutating=*/false);
  }
  AfterUnlock after;
  MutexLock lock(mutex_);
  while (!operations_.empty() && RealNow() < until) {
    operation_ended_.WaitUntil(mutex_, until);
  }
  StopForShutdown(after, /*also_mutating=*/true);
  return ListLocked();
}

}  // namespace addons
