#ifndef ADDONS_OPERATION_TABLE_CALL_H_
#define ADDONS_OPERATION_TABLE_CALL_H_

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "base/caller.h"
#include "base/clock.h"
#include "operation/operation_spec.h"

namespace addons {

struct Call;
struct Operation;

using CallPtr = std::shared_ptr<Call>;
/// By time; a call or an operation stays in it under another time without
/// asking for memory.
using CallsByTime = std::multimap<SteadyTime, CallPtr>;

/// One call of the table, from its arrival to its answer. It holds no thread:
/// what happens to it comes from the end of operations, from the timer, and
/// from its caller, who may go.
///
/// What is not const is guarded by the table's mutex, except `gone`, which is
/// set once.
struct Call {
  using Result = absl::StatusOr<std::any>;
  enum class Phase {
    kInLine,  // for its keys
    kProves,  // that it may end another operation
    kAwaits,  // the result of `operation`
    kAnswered,
  };

  Call(OperationSpec what, Caller who, OperationWork how,
       std::function<void(Result)> answer_with)
      : shared_spec(std::make_shared<const OperationSpec>(std::move(what))),
        caller(std::move(who)),
        work(std::move(how)),
        on_answer(std::move(answer_with)) {}

  const OperationSpec& spec() const { return *shared_spec; }

  /// Keys sorted, without duplicates. That of `operation` once it waits for
  /// that, so that a thousand callers of one operation do not hold a thousand.
  std::shared_ptr<const OperationSpec> shared_spec;
  const Caller caller;
  /// Of no use, and dropped, once the call waits for an operation.
  OperationWork work;
  std::function<void(Result)> on_answer;

  // Real time, except `clock_deadline`.
  SteadyTime answer_at;   // without a result by then: the pending status
  SteadyTime give_up_at;  // keys not free by then: ABORTED
  SteadyTime clock_deadline;

  Phase phase = Phase::kInLine;
  bool counted = false;            // in OperationStats::waiting
  std::optional<uint64_t> ticket;  // place among those who wait for keys
  bool must_prove = false;         // it would end another operation
  bool proved = false;
  std::optional<CallsByTime::iterator> timer;
  std::shared_ptr<Operation> operation;
  CallsByTime::iterator place;  // among the calls of `operation`

  std::optional<Result> answer;
  CallPtr next_in_line;   // of a CallQueue
  CallPtr next_answered;  // likewise
  CallPtr next_joined;    // likewise
  bool in_line = false;   // of the calls that are to be considered

  std::optional<std::stop_callback<std::function<void()>>> gone;
};

/// First in, first out, without memory of its own: it must not fail where
/// nothing may. A call is in one queue of a kind at a time.
template <CallPtr Call::*kNext>
class CallQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  void Push(CallPtr call) {
    Call* const added = call.get();
    (first_ == nullptr ? first_ : last_->*kNext) = std::move(call);
    last_ = added;
  }
  /// Not of an empty one.
  CallPtr Pop() {
    CallPtr call = std::move(first_);
    first_ = std::move((*call).*kNext);
    return call;
  }

 private:
  CallPtr first_;
  Call* last_ = nullptr;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_CALL_H_
