#include "replication/group/member_context.h"

namespace addons {

absl::Status MemberContext::SleepFor(SteadyDuration duration) {
  absl::Status reason =
      pending_.ok() ? absl::UnavailableError(step_) : pending_;
  if (!mutating_) {
    board_.Waits(member_, reason);
    // Something else was changed already: the operation would go on for ever.
    if (board_.mutating() && (!board_.LatestDeadline().has_value() ||
                              board_.clock().Now() >= give_up_)) {
      return reason;
    }
    if (!may_wait_) {
      gave_way_ = true;
      // So that what the verb has seen stays for the next look.
      return RunAgain();
    }
  }
  return board_.SleepAtWork(duration);
}

absl::Status MemberContext::BeginMutation() {
  reached_change_ = true;
  if (mode_ == Mode::kProbe) {
    return absl::CancelledError("nothing is changed while a group is probed");
  }
  absl::Status begun = board_.BeginMutation();
  if (begun.ok()) {
    mutating_ = true;
    board_.Runs(member_);
  }
  return begun;
}

}  // namespace addons
