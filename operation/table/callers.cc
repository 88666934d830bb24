// The callers' side of the table: admit, join, supersede, answer, give up.

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "operation/table/state.h"

namespace addons {
namespace {

/// Deadlines beyond this are as good as none and must not overflow.
constexpr SteadyDuration kLongest = std::chrono::hours(24 * 365);
constexpr size_t kMostKeptResults = 1024;

OperationSpec WithSortedKeys(OperationSpec spec) {
  std::sort(spec.keys.begin(), spec.keys.end());
  spec.keys.erase(std::unique(spec.keys.begin(), spec.keys.end()),
                  spec.keys.end());
  return spec;
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

void TableState::Start(OperationSpec spec, const Caller& caller,
                       OperationWork work,
                       std::function<void(Result)> on_answer) {
  Begin(std::make_shared<Call>(WithSortedKeys(std::move(spec)), caller,
                               std::move(work), std::move(on_answer)),
        Counted::kYes);
}

void TableState::Begin(const CallPtr& call, Counted counted) {
  const absl::Status timely = SetTimes(*call);
  WatchCaller(call);
  AfterUnlock after;
  MutexLock lock(mutex_);
  if (call->phase == Call::Phase::kAnswered) return;  // the caller has gone
  std::optional<absl::Status> refused = Refusal(*call, counted);
  if (!refused && !timely.ok()) refused = timely;
  if (refused) {
    Answer(call, *std::move(refused), after);
    return;
  }
  call->counted = counted == Counted::kYes;
  if (call->counted) ++stats_.waiting;
  // Without memory for one call, the others go on: nothing of it stays.
  try {
    SetTimer(call, call->give_up_at);
    Consider(call, after);
  } catch (...) {
    Forget(call, after);
    Settle(after);
    throw;
  }
  Settle(after);
}

std::optional<absl::Status> TableState::Refusal(const Call& call,
                                                Counted counted) {
  if (counted == Counted::kYes && stats_.waiting >= limits_.max_waiting) {
    ++stats_.refused.waiting;
    return absl::ResourceExhaustedError(
        FailedText(call.spec(),
                   absl::StrCat(stats_.waiting,
                                " calls wait already, and --max-waiting allows "
                                "no more; repeat the call later")));
  }
  if (!EnsureTimer()) {
    ++stats_.refused.threads;
    return absl::ResourceExhaustedError(
        FailedText(call.spec(), "no thread could be started for it"));
  }
  return std::nullopt;
}

absl::Status TableState::SetTimes(Call& call) const {
  const SteadyTime now = RealNow();
  SteadyDuration wait = limits_.max_wait;
  if (call.caller.deadline) {
    if (*call.caller.deadline <= now) {
      return absl::DeadlineExceededError(
          FailedText(call.spec(), "the deadline has passed already"));
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

/// The caller's token may outlive the table, and the call.
void TableState::WatchCaller(const CallPtr& call) {
  if (!call->caller.gone.stop_possible()) return;
  call->gone.emplace(
      call->caller.gone,
      [weak_state = weak_from_this(), weak_call = std::weak_ptr<Call>(call)] {
        const auto state = weak_state.lock();
        const CallPtr gone = weak_call.lock();
        if (state != nullptr && gone != nullptr) state->CallerHasGone(gone);
      });
}

void TableState::CallerHasGone(const CallPtr& call) {
  AfterUnlock after;
  MutexLock lock(mutex_);
  if (call->phase == Call::Phase::kAnswered) return;
  absl::Status status(absl::StatusCode::kCancelled, "");
  try {
    status = GoneStatus(call->spec());
  } catch (...) {  // no memory for the text, which nobody reads
  }
  Answer(call, std::move(status), after);
  Settle(after);
}

void TableState::Consider(const CallPtr& call, AfterUnlock& after) {
  if (call->phase != Call::Phase::kInLine) return;
  std::optional<Outcome> outcome = Decide(call, after);
  if (outcome) {
    DropTicket(*call);
    if (outcome->answer) {
      Answer(call, *std::move(outcome->answer), after);
      return;
    }
    call->phase = Call::Phase::kAwaits;
    call->shared_spec = std::shared_ptr<const OperationSpec>(
        outcome->operation, &outcome->operation->spec);
    after.DropWork(call);
    SetTimer(call, call->answer_at);
    return;
  }
  if (!std::exchange(call->must_prove, false)) {
    TakeTicket(call);
    return;
  }
  // Nobody stands in line behind a call that may be refused.
  DropTicket(*call);
  after.Do([self = shared_from_this(), call] { self->Prove(call); });
  call->phase = Call::Phase::kProves;
}

void TableState::ConsiderOrFail(const CallPtr& call, AfterUnlock& after) {
  try {
    Consider(call, after);
  } catch (...) {
    Answer(call, absl::Status(absl::StatusCode::kInternal, ""), after);
  }
}

void TableState::Settle(AfterUnlock& after) {
  while (!to_consider_.empty()) {
    const CallPtr call = to_consider_.Pop();
    call->in_line = false;
    ConsiderOrFail(call, after);
  }
}

void TableState::Prove(const CallPtr& call) {
  absl::Status failed(absl::StatusCode::kInternal, "");
  try {
    OperationSpec spec;  // without keys: it excludes nothing
    spec.share = call->spec().share;
    spec.verb = call->spec().verb;
    spec.action = call->spec().action;
    spec.object = call->spec().object;
    spec.lane = Lane::kRead;
    const absl::Status pending = absl::UnavailableError(
        FailedText(spec,
                   "another operation runs, and is not ended before the "
                   "cluster has answered to the user of this call"));
    OperationWork ask =
        [prove = call->spec().prove,
         pending](OperationContext& context) -> absl::StatusOr<std::any> {
      context.Step("connecting before another operation is ended");
      context.SetPending(pending);
      ADDONS_RETURN_IF_ERROR(prove(context));
      return std::any();
    };
    Begin(std::make_shared<Call>(
              std::move(spec), call->caller, std::move(ask),
              [self = shared_from_this(), call](const Result& verdict) {
                self->Proved(call, verdict.status());
              }),
          Counted::kNo);
    return;
  } catch (...) {  // no memory
  }
  Proved(call, failed);
}

void TableState::Proved(const CallPtr& call, const absl::Status& verdict) {
  AfterUnlock after;
  MutexLock lock(mutex_);
  if (call->phase != Call::Phase::kProves) return;
  call->phase = Call::Phase::kInLine;
  call->proved = true;
  if (verdict.ok()) {
    SetTimer(call, call->give_up_at);
    ConsiderOrFail(call, after);
  } else {
    Answer(call, verdict, after);
  }
  Settle(after);
}

// Also after each wait: whatever was seen before it may have changed.
std::optional<TableState::Outcome> TableState::Decide(const CallPtr& call,
                                                      AfterUnlock& after) {
  const OperationSpec& spec = call->spec();
  if (draining_) {
    ++stats_.refused.stopping;
    return Outcome{
        absl::UnavailableError(FailedText(spec, "the server is shutting down")),
        nullptr};
  }
  if (std::optional<Outcome> joined = Join(call)) return joined;
  const bool first_look = !call->ticket;
  const bool in_time = RealNow() < call->give_up_at;
  if (first_look || in_time) Supersede(*call, after);
  if (IsFree(spec) && EarlierCall(*call) == nullptr) return Admit(call, after);
  if (in_time) return std::nullopt;
  ++stats_.conflicts;
  return Outcome{ConflictStatus(*call), nullptr};
}

std::optional<TableState::Outcome> TableState::Join(const CallPtr& call) {
  const OperationSpec& spec = call->spec();
  if (spec.keys.empty()) return std::nullopt;
  const auto it = holders_.find(spec.keys.front());
  if (it == holders_.end()) return std::nullopt;
  const OperationPtr& operation = it->second;
  // One that was asked to stop has no result to wait for.
  if (operation->stop_reason || !IsSameWork(operation->spec, spec)) {
    return std::nullopt;
  }
  call->place = operation->calls.emplace(call->clock_deadline, call);
  call->operation = operation;
  ++stats_.joined;
  return Outcome{std::nullopt, operation};
}

void TableState::Supersede(Call& call, AfterUnlock& after) {
  const std::vector<OperationPtr> holders = Holders(call.spec());
  // All or none: ending some of them is no use while another one goes on.
  for (const OperationPtr& holder : holders) {
    const bool same = holder->spec.verb == call.spec().verb &&
                      holder->spec.parameters == call.spec().parameters;
    const bool gives_way = (holder->spec.yields && !call.spec().yields) ||
                           (call.spec().supersedes && !holder->mutating);
    if (!gives_way || (same && !holder->stop_reason)) return;
  }
  const bool ends_some =
      std::any_of(holders.begin(), holders.end(),
                  [](const auto& holder) { return !holder->stop_reason; });
  if (ends_some && call.spec().prove && !call.proved) {
    call.must_prove = true;
    return;
  }
  for (const OperationPtr& holder : holders) {
    if (holder->stop_reason) continue;
    const absl::Status status = absl::AbortedError(absl::StrCat(
        Name(holder->spec), " was superseded by ", call.spec().verb,
        " (request ", call.caller.request_id, ")"));
    ++stats_.superseded;
    Stop(holder, status, status, after);
  }
}

TableState::Outcome TableState::Admit(const CallPtr& call, AfterUnlock& after) {
  const std::any* kept = kept_.Find(call->spec(), clock_.Now());
  if (kept != nullptr) {
    ++stats_.kept;
    return {Result(*kept), nullptr};
  }
  LaneState& lane = LaneOf(call->spec());
  const uint64_t id = next_id_++;
  OperationSpec spec = call->spec();
  spec.prove = nullptr;  // it has served; release captures
  auto operation =
      std::make_shared<Operation>(id, std::move(spec), call->caller.request_id,
                                  OperationWork(), clock_.Now());
  if (lane.queue.Push(id, call->spec().share) == LaneQueue::Place::kFull) {
    ++stats_.refused.lane;
    return {absl::ResourceExhaustedError(FailedText(
                call->spec(),
                absl::StrCat("all workers are busy and ", lane.queue.queued(),
                             " operations wait for one; repeat the call "
                             "later"))),
            nullptr};
  }
  try {
    operations_.emplace(id, operation);
    for (const std::string& key : call->spec().keys) holders_[key] = operation;
    call->place = operation->calls.emplace(call->clock_deadline, call);
  } catch (...) {
    lane.queue.Remove(id);
    Release(operation);
    throw;
  }
  call->operation = operation;
  operation->work = std::move(call->work);
  if (!EnsureThreads(lane)) {
    operation->calls.erase(call->place);
    call->operation = nullptr;
    RemoveFromLane(operation);
    after.Stop(operation);
    ++stats_.refused.threads;
    return {absl::ResourceExhaustedError(
                FailedText(call->spec(), "no thread could be started for it")),
            nullptr};
  }
  WakeWorker(lane);
  return {std::nullopt, std::move(operation)};
}

void TableState::Answer(const CallPtr& call, Result result,
                        AfterUnlock& after) {
  Forget(call, after);
  call->answer = std::move(result);
  after.Answer(call);
}

// The same answer for all, so nothing of it may fail for one of them.
void TableState::AnswerAll(const OperationPtr& operation, const Result& result,
                           AfterUnlock& after) {
  while (!operation->calls.empty()) {
    const CallPtr call = operation->calls.begin()->second;
    operation->calls.erase(operation->calls.begin());
    call->operation = nullptr;
    try {
      Answer(call, result, after);
    } catch (...) {
      Answer(call, absl::Status(absl::StatusCode::kInternal, ""), after);
    }
  }
}

void TableState::Forget(const CallPtr& call, AfterUnlock& after) {
  call->phase = Call::Phase::kAnswered;
  DropTicket(*call);
  if (call->timer) timers_.erase(*call->timer);
  call->timer.reset();
  if (call->counted) --stats_.waiting;
  call->counted = false;
  if (call->operation == nullptr) return;
  const OperationPtr operation = std::move(call->operation);
  call->operation = nullptr;
  operation->calls.erase(call->place);
  EndIfNobodyWaits(operation, after);
}

void TableState::EndIfNobodyWaits(const OperationPtr& operation,
                                  AfterUnlock& after) {
  if (!operation->calls.empty() || operation->ended || operation->mutating) {
    return;
  }
  absl::Status reason(absl::StatusCode::kCancelled, "");
  try {
    reason = absl::CancelledError(
        absl::StrCat("nobody waits for ", Name(operation->spec), " any more"));
  } catch (...) {  // no memory for the text
  }
  Stop(operation, reason, std::nullopt, after);
}

std::vector<OperationPtr> TableState::Holders(const OperationSpec& spec) const {
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
const Call* TableState::EarlierCall(const Call& call) const {
  for (const std::string& key : call.spec().keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    for (const CallPtr& other : it->second) {
      if (call.ticket && *other->ticket >= *call.ticket) break;
      if (IsFree(other->spec())) return other.get();
    }
  }
  return nullptr;
}

absl::Status TableState::ConflictStatus(const Call& call) const {
  const std::vector<OperationPtr> holders = Holders(call.spec());
  if (!holders.empty()) {
    const Operation& holder = *holders.front();
    return absl::AbortedError(FailedText(
        call.spec(),
        absl::StrCat(Describe(holder, clock_.Now()), " (request ",
                     holder.request_id, ")",
                     holder.stop_reason ? " and was asked to stop" : "",
                     "; repeat the call later")));
  }
  const Call* earlier = EarlierCall(call);
  return absl::AbortedError(FailedText(
      call.spec(), absl::StrCat(earlier != nullptr ? Name(earlier->spec())
                                                   : "another operation",
                                " waits before it; repeat the call later")));
}

void TableState::TakeTicket(const CallPtr& call) {
  if (call->ticket) return;
  call->ticket = next_ticket_++;
  for (const std::string& key : call->spec().keys) {
    waiters_[key].push_back(call);
  }
}

void TableState::DropTicket(Call& call) {
  if (!call.ticket) return;
  call.ticket.reset();
  for (const std::string& key : call.spec().keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    std::erase_if(it->second, [&call](const CallPtr& other) {
      return other.get() == &call;
    });
    if (it->second.empty()) waiters_.erase(it);
  }
  CallWaiters(call.spec());
}

void TableState::CallWaiters(const OperationSpec& spec) {
  for (const std::string& key : spec.keys) {
    const auto it = waiters_.find(key);
    if (it == waiters_.end()) continue;
    for (const CallPtr& waiter : it->second) {
      if (!std::exchange(waiter->in_line, true)) to_consider_.Push(waiter);
    }
  }
}

void TableState::Stop(const OperationPtr& operation, const absl::Status& reason,
                      const std::optional<absl::Status>& answer,
                      AfterUnlock& after) {
  if (operation->ended) return;
  if (!operation->stop_reason) {
    operation->stop_reason = reason;
    after.Stop(operation);
    // With a worker it ends by itself.
    if (operation->parked) {
      RemoveParked(operation);
    } else {
      RemoveFromLane(operation);
    }
  }
  if (answer) AnswerAll(operation, *answer, after);
}

void TableState::RemoveFromLane(const OperationPtr& operation) {
  LaneState& lane = LaneOf(operation->spec);
  if (!lane.queue.Remove(operation->id)) return;
  operation->ended = true;
  operation->removed = true;
  if (operation->stop_reason) NoteEnd(*operation, *operation->stop_reason);
  if (operation->running) ++stats_.finished;
  Release(operation);
  if (lane.queue.ready() > 0) WakeWorker(lane);
}

void TableState::RemoveParked(const OperationPtr& operation) {
  parked_.erase(*operation->parked);
  operation->parked.reset();
  operation->ended = true;
  operation->removed = true;
  if (operation->stop_reason) NoteEnd(*operation, *operation->stop_reason);
  ++stats_.finished;
  Release(operation);
}

void TableState::Release(const OperationPtr& operation) {
  for (const std::string& key : operation->spec.keys) holders_.erase(key);
  CallWaiters(operation->spec);
  operations_.erase(operation->id);
  if (operations_.empty()) operation_ended_.NotifyAll();
}

void TableState::NoteEnd(const Operation& operation,
                         const absl::Status& status) noexcept {
  constexpr size_t kMostText = 500;
  if (operation.spec.lane == Lane::kRead || operation.spec.routine) return;
  try {
    const SteadyTime now = clock_.Now();
    EndedOperation ended;
    ended.id = operation.id;
    ended.verb = operation.spec.verb;
    ended.object = operation.spec.object;
    ended.request_id = operation.request_id;
    ended.status =
        status.message().size() <= kMostText
            ? status
            : absl::Status(
                  status.code(),
                  absl::StrCat(status.message().substr(0, kMostText), "..."));
    ended.age = std::chrono::duration_cast<std::chrono::milliseconds>(
        now - operation.admitted);
    ended.ended_at = now;
    ended_.push_back(std::move(ended));
    if (ended_.size() > kMostEndedOperations) ended_.pop_front();
  } catch (...) {  // no memory
  }
}

std::vector<EndedOperation> TableState::Ended() const {
  const MutexLock lock(mutex_);
  return {ended_.rbegin(), ended_.rend()};
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
    OperationInfo& info = list.emplace_back(Info(*operation, now));
    info.stuck = limits_.watchdog.count() > 0 && operation->running &&
                 now - operation->last_progress >= limits_.watchdog;
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
  Settle(after);
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
      for (const CallPtr& waiter : waiters) {
        if (!std::exchange(waiter->in_line, true)) to_consider_.Push(waiter);
      }
    }
    StopForShutdown(after, /*also_mutating=*/false);
    Settle(after);
  }
  AfterUnlock after;
  MutexLock lock(mutex_);
  while (!operations_.empty() && RealNow() < until) {
    operation_ended_.WaitUntil(mutex_, until);
  }
  StopForShutdown(after, /*also_mutating=*/true);
  Settle(after);
  return ListLocked();
}

}  // namespace addons
