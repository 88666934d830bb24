#include "replication/group/member_context.h"

#include "base/status_macros.h"

namespace addons {

absl::Status MemberContext::NoteWait() {
  if (mutating_) return absl::OkStatus();
  absl::Status reason =
      pending_.ok() ? absl::UnavailableError(step_) : pending_;
  board_.Waits(member_, reason, clock_);
  // Something else was changed already: the operation would go on for ever.
  const bool ends =
      board_.mutating() && (!board_.LatestDeadline().has_value() ||
                            board_.clock().Now() >= give_up_);
  return ends ? reason : absl::OkStatus();
}

absl::Status MemberContext::SleepFor(SteadyDuration duration) {
  ADDONS_RETURN_IF_ERROR(NoteWait());
  return board_.SleepAtWork(duration);
}

absl::Status MemberContext::LookAgainAfter(SteadyDuration duration) {
  ADDONS_RETURN_IF_ERROR(NoteWait());
  if (mutating_ || may_wait_) return board_.SleepAtWork(duration);
  gave_way_ = duration;
  return RunAgain();
}

absl::Status MemberContext::BeginMutation() {
  reached_change_ = true;
  if (mode_ == Mode::kProbe) {
    return absl::CancelledError("nothing is changed while a group is probed");
  }
  return BeginCorrection();
}

absl::Status MemberContext::BeginCorrection() {
  absl::Status begun = board_.BeginMutation();
  if (begun.ok()) {
    mutating_ = true;
    board_.Runs(member_);
  }
  return begun;
}

}  // namespace addons
