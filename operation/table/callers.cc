// The callers' side of the table: admit, join, supersede, wait, give up.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/table/state.h"

namespace addons {
namespace {

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

bool HasGone(const Caller& caller) {
  return caller.cancelled && caller.cancelled();
}

absl::Status GoneStatus(const OperationSpec& spec) {
  return absl::CancelledError(FailedText(spec, "the caller has gone"));
}

}  // namespace

TableState::TableState(const OperationLimits& limits, Clock& clock)
    : limits_(limits),
      clock_(clock),
      kept_(kMostKeptResults, limits.keep_results),
      control_("op-control", limits.control),
      bulk_("op-bulk", limits.bulk),
      read_("op-read", limits.read) {}

TableState::Call::Call(OperationSpec what, const Caller& who, OperationWork how)
    : spec(WithSortedKeys(std::move(what))),
      caller(who),
      work(std::move(how)) {}

TableState::Result TableState::Run(OperationSpec spec, const Caller& caller,
                                   OperationWork work) {
  {
    MutexLock lock(mutex_);
    if (stats_.waiting >= limits_.max_waiting) {
      ++stats_.refused;
      return absl::ResourceExhaustedError(FailedText(
          spec, absl::StrCat(stats_.waiting,
                             " calls wait already, and --max-waiting allows "
                             "no more; repeat the call later")));
    }
    ++stats_.waiting;
  }
  const absl::Cleanup left = [this] {
    MutexLock lock(mutex_);
    --stats_.waiting;
  };
  return RunCounted(std::move(spec), caller, std::move(work));
}

TableState::Result TableState::RunCounted(OperationSpec spec,
                                          const Caller& caller,
                                          OperationWork work) {
  Call call(std::move(spec), caller, std::move(work));
  ADDONS_RETURN_IF_ERROR(SetTimes(call));
  Outcome outcome;
  // Without memory for one call, the others go on: nothing of it stays behind.
  try {
    outcome = Obtain(call);
    if (outcome.answer) return *std::move(outcome.answer);
    return Await(call, outcome.operation);
  } catch (...) {
    AfterUnlock after;
    MutexLock lock(mutex_);
    DropTicket(call);
    if (outcome.operation != nullptr) Leave(call, outcome.operation, after);
    throw;
  }
}

absl::Status TableState::SetTimes(Call& call) const {
  const SteadyTime now = RealNow();
  SteadyDuration wait = limits_.max_wait;
  if (call.caller.deadline) {
    if (*call.caller.deadline <= now) {
      return absl::DeadlineExceededError(
          FailedText(call.spec, "the deadline has passed already"));
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

TableState::Outcome TableState::Obtain(Call& call) {
  absl::Status refused;
  while (refused.ok() && !HasGone(call.caller)) {
    {
      AfterUnlock after;
      MutexLock lock(mutex_);
      std::optional<Outcome> outcome = Decide(call, after);
      if (outcome) {
        DropTicket(call);
        return *std::move(outcome);
      }
      if (call.must_prove) {
        // Nobody stands in line behind a call that may be refused.
        DropTicket(call);
      } else {
        TakeTicket(call);
        if (after.empty()) {
          call.turn.WaitUntil(
              mutex_,
              std::min(call.give_up_at, RealNow() + limits_.cancel_poll));
        }
      }
    }
    if (std::exchange(call.must_prove, false)) {
      refused = Prove(call);
      call.proved = true;
    }
  }
  MutexLock lock(mutex_);
  DropTicket(call);
  return {refused.ok() ? GoneStatus(call.spec) : refused, nullptr};
}

absl::Status TableState::Prove(const Call& call) {
  OperationSpec spec;  // without keys: it excludes nothing
  spec.share = call.spec.share;
  spec.verb = call.spec.verb;
  spec.action = call.spec.action;
  spec.object = call.spec.object;
  spec.lane = Lane::kRead;
  const absl::Status pending = absl::UnavailableError(
      FailedText(spec,
                 "another operation runs, and is not ended before the "
                 "cluster has answered to the user of this call"));
  return RunCounted(
             spec, call.caller,
             [prove = call.spec.prove,
              pending](OperationContext& context) -> absl::StatusOr<std::any> {
               context.Step("connecting before another operation is ended");
               context.SetPending(pending);
               ADDONS_RETURN_IF_ERROR(prove(context));
               return std::any();
             })
      .status();
}

// Also after each wait: whatever was seen before it may have changed.
std::optional<TableState::Outcome> TableState::Decide(Call& call,
                                                      AfterUnlock& after) {
  if (draining_) {
    ++stats_.refused;
    return Outcome{absl::UnavailableError(
                       FailedText(call.spec, "the server is shutting down")),
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

std::optional<TableState::Outcome> TableState::Join(const Call& call) {
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

void TableState::Supersede(Call& call, AfterUnlock& after) {
  const std::vector<OperationPtr> holders = Holders(call.spec);
  // All or none: ending some of them is no use while another one goes on.
  for (const OperationPtr& holder : holders) {
    const bool same = holder->spec.verb == call.spec.verb &&
                      holder->spec.parameters == call.spec.parameters;
    const bool gives_way = (holder->spec.yields && !call.spec.yields) ||
                           (call.spec.supersedes && !holder->mutating);
    if (!gives_way || (same && !holder->stop_reason)) return;
  }
  const bool ends_some =
      std::any_of(holders.begin(), holders.end(),
                  [](const auto& holder) { return !holder->stop_reason; });
  if (ends_some && call.spec.prove && !call.proved) {
    call.must_prove = true;
    return;
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

TableState::Outcome TableState::Admit(Call& call, AfterUnlock& after) {
  const std::any* kept = kept_.Find(call.spec, clock_.Now());
  if (kept != nullptr && !call.spec.still_true) {
    ++stats_.kept;
    return {Result(*kept), nullptr};
  }
  LaneState& lane = LaneOf(call.spec);
  const uint64_t id = next_id_++;
  OperationSpec spec = call.spec;
  spec.prove = nullptr;  // it has served; release captures
  auto operation =
      std::make_shared<Operation>(id, std::move(spec), call.caller.request_id,
                                  OperationWork(), clock_.Now());
  if (kept != nullptr) operation->kept = *kept;
  operation->deadlines.insert(call.clock_deadline);
  if (lane.queue.Push(id, call.spec.share) == LaneQueue::Place::kFull) {
    ++stats_.refused;
    return {absl::ResourceExhaustedError(FailedText(
                call.spec,
                absl::StrCat("all workers are busy and ", lane.queue.queued(),
                             " operations wait for one; repeat the call "
                             "later"))),
            nullptr};
  }
  try {
    operations_.emplace(id, operation);
    for (const std::string& key : call.spec.keys) holders_[key] = operation;
  } catch (...) {
    lane.queue.Remove(id);
    Release(operation);
    throw;
  }
  operation->work = std::move(call.work);
  if (!EnsureThreads(lane)) {
    RemoveUnstarted(operation, after);
    ++stats_.refused;
    return {absl::ResourceExhaustedError(
                FailedText(call.spec, "no thread could be started for it")),
            nullptr};
  }
  WakeWorker(lane);
  EnsureWatchdog();
  return {std::nullopt, std::move(operation)};
}

TableState::Result TableState::Await(const Call& call,
                                     const OperationPtr& operation) {
  for (;;) {
    const bool gone = HasGone(call.caller);
    AfterUnlock after;
    MutexLock lock(mutex_);
    std::optional<Result> answer = AnswerNow(call, *operation, gone);
    if (!answer) {
      operation->changed.WaitUntil(
          mutex_, std::min(call.answer_at, RealNow() + limits_.cancel_poll));
      answer = AnswerNow(call, *operation, /*gone=*/false);
    }
    if (answer) {
      Leave(call, operation, after);
      return *std::move(answer);
    }
  }
}

std::optional<TableState::Result> TableState::AnswerNow(
    const Call& call, const Operation& operation, bool gone) const {
  if (operation.answer) return *operation.answer;
  if (operation.result) return operation.result;
  if (gone) return GoneStatus(call.spec);
  if (RealNow() < call.answer_at) return std::nullopt;
  return PendingStatus(operation, clock_.Now());
}

void TableState::Leave(const Call& call, const OperationPtr& operation,
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

std::vector<TableState::OperationPtr> TableState::Holders(
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

bool TableState::IsFree(const OperationSpec& spec) const {
  for (const std::string& key : spec.keys) {
    if (holders_.contains(key)) return false;
  }
  return true;
}

// First come, first served, except that a call which needs several keys and
// cannot have them all yet does not hold back those who need one of them.
const TableState::Call* TableState::EarlierCall(const Call& call) const {
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

absl::Status TableState::ConflictStatus(const Call& call) const {
  const std::vector<OperationPtr> holders = Holders(call.spec);
  if (!holders.empty()) {
    const Operation& holder = *holders.front();
    return absl::AbortedError(FailedText(
        call.spec,
        absl::StrCat(Describe(holder, clock_.Now()), " (request ",
                     holder.request_id, ")",
                     holder.stop_reason ? " and was asked to stop" : "",
                     "; repeat the call later")));
  }
  const Call* earlier = EarlierCall(call);
  return absl::AbortedError(FailedText(
      call.spec, absl::StrCat(earlier != nullptr ? Name(earlier->spec)
                                                 : "another operation",
                              " waits before it; repeat the call later")));
}

void TableState::TakeTicket(Call& call) {
  if (call.ticket) return;
  call.ticket = next_ticket_++;
  for (const std::string& key : call.spec.keys) {
    waiters_[key].push_back(&call);
  }
}

void TableState::DropTicket(Call& call) {
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

void TableState::NotifyWaiters(const OperationSpec& spec) {
  for (const std::string& key : spec.keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    for (Call* waiter : it->second) waiter->turn.NotifyOne();
  }
}

void TableState::Stop(const OperationPtr& operation, const absl::Status& reason,
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

void TableState::RemoveUnstarted(const OperationPtr& operation,
                                 AfterUnlock& after) {
  LaneState& lane = LaneOf(operation->spec);
  lane.queue.Remove(operation->id);
  after.Destroy(std::move(operation->work));
  Release(operation);
  if (lane.queue.ready() > 0) WakeWorker(lane);
}

void TableState::Release(const OperationPtr& operation) {
  for (const std::string& key : operation->spec.keys) holders_.erase(key);
  NotifyWaiters(operation->spec);
  operations_.erase(operation->id);
  if (operations_.empty()) operation_ended_.NotifyAll();
}

std::vector<OperationInfo> TableState::List() const {
  MutexLock lock(mutex_);
  return ListLocked();
}

std::vector<OperationInfo> TableState::ListLocked() const {
  const SteadyTime now = clock_.Now();
  std::vector<OperationInfo> list;
  list.reserve(operations_.size());
  for (const auto& [id, operation] : operations_) {
    list.push_back(Info(*operation, now));
  }
  return list;
}

OperationStats TableState::stats() const {
  MutexLock lock(mutex_);
  OperationStats stats = stats_;
  stats.threads = live_threads_;
  return stats;
}

absl::StatusOr<OperationInfo> TableState::Cancel(uint64_t id) {
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

void TableState::StopForShutdown(AfterUnlock& after, bool also_mutating) {
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
    Stop(operation, absl::CancelledError(FailedText(operation->spec, cause)),
         absl::UnavailableError(FailedText(operation->spec, cause)), after);
  }
}

std::vector<OperationInfo> TableState::Drain(std::chrono::milliseconds grace) {
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
