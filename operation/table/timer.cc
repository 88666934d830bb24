// What comes with time: deadlines of callers, the watchdog, the next look.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "operation/table/state.h"

namespace addons {
namespace {

constexpr SteadyTime kNever = SteadyTime::max();

}  // namespace

bool TableState::EnsureTimer() {
  if (!timer_started_) {
    timer_started_ =
        StartWorker("op-timer", [](TableState& state) { state.TimerLoop(); });
  }
  return timer_started_;
}

void TableState::SetTimer(const CallPtr& call, SteadyTime due) {
  if (call->timer) {
    auto node = timers_.extract(*call->timer);
    node.key() = due;
    call->timer = timers_.insert(std::move(node));
  } else {
    call->timer = timers_.emplace(due, call);
  }
  if (due < timer_sleeps_until_) timer_wake_.NotifyOne();
}

SteadyTime TableState::NextTimer() const {
  SteadyTime next = timers_.empty() ? kNever : timers_.begin()->first;
  if (limits_.watchdog.count() > 0 && !operations_.empty()) {
    next = std::min(next, next_watch_);
  }
  return next;
}

void TableState::TimerLoop() {
  using std::chrono::milliseconds;
  const milliseconds tick =
      std::clamp(limits_.watchdog / 4, milliseconds(10), milliseconds(10000));
  for (;;) {
    std::vector<std::string> lines;
    {
      AfterUnlock after;
      MutexLock lock(mutex_);
      if (ending_) break;
      const SteadyTime now = RealNow();
      // Without an operation there is nothing to watch.
      if (operations_.empty() || next_watch_ > now + tick) {
        next_watch_ = now + tick;
      }
      timer_sleeps_until_ = NextTimer();
      if (timer_sleeps_until_ == kNever) {
        timer_wake_.Wait(mutex_);
      } else if (timer_sleeps_until_ > now) {
        timer_wake_.WaitUntil(mutex_, timer_sleeps_until_);
      }
      timer_sleeps_until_ = SteadyTime::min();  // it looks now
      FireTimers(after);
      if (limits_.watchdog.count() > 0 && RealNow() >= next_watch_) {
        next_watch_ = RealNow() + tick;
        try {
          lines = Overdue();
        } catch (...) {  // no memory: at the next look
        }
      }
    }
    for (const std::string& line : lines) Log().warn("{}", line);
  }
  ThreadEnds();
}

void TableState::FireTimers(AfterUnlock& after) {
  while (!timers_.empty() && timers_.begin()->first <= RealNow()) {
    const CallPtr call = timers_.begin()->second;
    SetTimer(call, kNever);
    try {
      TimeIsUp(call, after);
    } catch (...) {  // no memory for a text
      Answer(call, absl::Status(absl::StatusCode::kUnavailable, ""), after);
    }
  }
  Settle(after);
}

void TableState::TimeIsUp(const CallPtr& call, AfterUnlock& after) {
  switch (call->phase) {
    case Call::Phase::kInLine:
      Consider(call, after);
      break;
    case Call::Phase::kAwaits:
      Answer(call, PendingStatus(*call->operation, clock_.Now()), after);
      break;
    case Call::Phase::kProves:  // as a call of its own, which has these times
    case Call::Phase::kAnswered:
      break;
  }
}

std::vector<std::string> TableState::Overdue() {
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
        " idle_ms=", WholeMilliseconds(now - operation->last_progress),
        " age_ms=", WholeMilliseconds(now - operation->admitted)));
  }
  return lines;
}

/// The clock of operations may be another one than that of callers, so this
/// takes a thread of its own.
void TableState::LookLoop() {
  for (;;) {
    SteadyTime due;
    std::stop_token wake;
    {
      MutexLock lock(mutex_);
      while (!ending_ && parked_.empty()) look_wake_.Wait(mutex_);
      if (ending_) break;
      LookAgainAtDue();
      if (parked_.empty()) continue;
      due = parked_.begin()->first;
      look_sleep_ = std::stop_source();
      wake = look_sleep_.get_token();
    }
    clock_.SleepUntil(due, wake);
  }
  ThreadEnds();
}

void TableState::LookAgainAtDue() {
  while (!parked_.empty() && parked_.begin()->first <= clock_.Now()) {
    const OperationPtr operation = parked_.begin()->second;
    LaneState& lane = LaneOf(operation->spec);
    try {
      lane.queue.PushAgain(operation->id, operation->spec.share);
    } catch (...) {  // no memory: a little later
      auto node = parked_.extract(parked_.begin());
      node.key() = clock_.Now() + std::chrono::seconds(1);
      operation->parked = parked_.insert(std::move(node));
      continue;
    }
    parked_.erase(parked_.begin());
    operation->parked.reset();
    if (lane.queue.ready() > 0) WakeWorker(lane);
  }
}

}  // namespace addons
