#include "operation/table/operation.h"

#include <chrono>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

template <typename Unit>
int64_t CountOf(SteadyDuration duration) {
  return std::chrono::duration_cast<Unit>(duration).count();
}

}  // namespace

Operation::Operation(uint64_t operation_id, OperationSpec what,
                     std::string request, OperationWork how, SteadyTime now)
    : id(operation_id),
      spec(std::move(what)),
      request_id(std::move(request)),
      admitted(now),
      work(std::move(how)),
      last_progress(now),
      last_warning(now) {}

std::string Name(const OperationSpec& spec) {
  return absl::StrCat(spec.verb, " of ", spec.object);
}

std::string Describe(const Operation& operation, SteadyTime now) {
  std::string text = absl::StrCat(
      Name(operation.spec),
      operation.running ? " has been running for " : " has been queued for ",
      CountOf<std::chrono::seconds>(now - operation.admitted), " s");
  if (!operation.step.empty()) {
    absl::StrAppend(&text, ", step '", operation.step, "'");
  }
  if (operation.total > 0) {
    absl::StrAppend(&text, ", ", operation.done, " of ", operation.total);
  }
  return text;
}

OperationInfo Info(const Operation& operation, SteadyTime now) {
  OperationInfo info;
  info.id = operation.id;
  info.verb = operation.spec.verb;
  info.object = operation.spec.object;
  info.lane = operation.spec.lane;
  info.share = operation.spec.share;
  info.step = operation.step;
  info.clock = operation.clock;
  info.request_id = operation.request_id;
  info.running = operation.running;
  info.between_looks = operation.parked.has_value();
  info.mutating = operation.mutating;
  info.stopping = operation.stop_reason.has_value();
  info.done = operation.done;
  info.total = operation.total;
  info.callers = operation.calls.size();
  info.age = std::chrono::duration_cast<std::chrono::milliseconds>(
      now - operation.admitted);
  if (operation.running) {
    info.idle = std::chrono::duration_cast<std::chrono::milliseconds>(
        now - operation.last_progress);
  }
  return info;
}

namespace {

/// ", cluster 'site-a'".
std::string ClusterText(const ClusterId& id) {
  return id.empty()
             ? ""
             : absl::StrCat(", cluster '", absl::CHexEscape(id.text()), "'");
}

}  // namespace

absl::Status PendingStatus(const Operation& operation, SteadyTime now) {
  if (!operation.pending.ok()) return operation.pending;
  const bool goes_on = operation.mutating || operation.calls.size() > 1;
  return absl::AbortedError(absl::StrCat(
      Describe(operation, now), ClusterText(operation.spec.share.cluster_id),
      "; the call can be repeated", goes_on ? " and will join it" : ""));
}

void AfterUnlock::Stop(OperationPtr operation) {
  operation->next_stopped = std::move(stopped_);
  stopped_ = std::move(operation);
}

AfterUnlock::~AfterUnlock() {
  while (stopped_ != nullptr) {
    const OperationPtr operation = std::move(stopped_);
    stopped_ = std::move(operation->next_stopped);
    operation->stop.request_stop();
    if (operation->removed) operation->work = nullptr;
  }
  while (!joined_.empty()) joined_.Pop()->work = nullptr;
  for (const std::function<void()>& action : actions_) action();
  while (!answered_.empty()) {
    const CallPtr call = answered_.Pop();
    const std::function<void(Call::Result)> on_answer =
        std::move(call->on_answer);
    try {
      on_answer(*std::move(call->answer));
    } catch (...) {
      // Who has to answer somebody does so when the receiver dies.
    }
  }
}

}  // namespace addons
