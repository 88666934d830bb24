#include "lease/leased_context.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kMostDoublings = 6;
constexpr char kLookAgain[] = "rbd-addons/look-again";

/// Never leaves RunLeased().
absl::Status LookAgain() {
  absl::Status status = absl::AbortedError(
      "the lease was taken just now; what was seen before is looked at again");
  status.SetPayload(kLookAgain, absl::Cord());
  return status;
}

}  // namespace

bool SaysLookAgain(const absl::Status& status) {
  return status.GetPayload(kLookAgain).has_value();
}

LeasedContext::~LeasedContext() {
  if (held_ != nullptr) keeper_.Forget(held_);
}

void LeasedContext::Aim(LeaseTarget target) {
  const bool same =
      target_.has_value() && target_->object == target.object &&
      target_->place.pool_id == target.place.pool_id &&
      target_->place.rados_namespace == target.place.rados_namespace &&
      target_->place.cluster == target.place.cluster;
  if (!same) GiveBack();
  target_ = std::move(target);
}

absl::Status LeasedContext::Take() {
  if (held_ != nullptr) return absl::OkStatus();
  if (!target_.has_value()) {
    return absl::InternalError("nobody said what the lease is about");
  }
  const LeaseOptions& options = keeper_.options();
  const SteadyTime until = inner_.DeadlineWithin(options.patience);
  bool waited = false;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(LeaseKeeper::Outcome outcome,
                            keeper_.TryTake(*target_, verb_));
    if (outcome.lease != nullptr) {
      held_ = std::move(outcome.lease);
      taken_at_ = clock().Now();
      begun_ = false;
      if (waited) inner_.SetPending(absl::OkStatus());
      return absl::OkStatus();
    }
    absl::Status busy = absl::AbortedError(
        absl::StrCat("Failed to ", verb_, " ", target_->text,
                     ": another daemon is at work on it: ", outcome.holder,
                     "; repeat the call"));
    if (clock().Now() >= until) return busy;
    inner_.Step(absl::StrCat("waiting for another daemon: ", outcome.holder));
    inner_.SetPending(std::move(busy));
    waited = true;
    ADDONS_RETURN_IF_ERROR(inner_.SleepFor(options.poll));
  }
}

void LeasedContext::GiveBack() {
  if (held_ == nullptr) return;
  const auto held = std::move(held_);
  held_.reset();
  keeper_.GiveBack(held);
}

bool LeasedContext::LooksAgain() {
  if (!refused_) return false;
  refused_ = false;
  ++looks_;
  return true;
}

// Longer each time that the verb was run again, so that one whose wait begins
// anew each time comes to its end.
SteadyDuration LeasedContext::Idle() const {
  return keeper_.options().idle * (1 << std::min(looks_, kMostDoublings));
}

absl::Status LeasedContext::SleepFor(SteadyDuration duration) {
  if (refused_) return LookAgain();
  if (held_ != nullptr) {
    if (!begun_ && clock().Now() - taken_at_ >= Idle()) {
      GiveBack();
    } else {
      // BeginMutation() tells when it is lost.
      keeper_.Check(held_).IgnoreError();
    }
  }
  return inner_.SleepFor(duration);
}

absl::Status LeasedContext::LookAgainAfter(SteadyDuration duration) {
  if (refused_ || held_ != nullptr) return SleepFor(duration);
  return inner_.LookAgainAfter(duration);
}

absl::Status LeasedContext::BeginMutation() {
  if (inner_.only_looks()) return inner_.BeginMutation();
  if (refused_) return LookAgain();
  if (held_ != nullptr) {
    const absl::Status kept = keeper_.Check(held_);
    if (kept.ok()) {
      ADDONS_RETURN_IF_ERROR(inner_.BeginMutation());
      begun_ = true;
      return absl::OkStatus();
    }
    if (begun_) return kept;
    GiveBack();
  }
  ADDONS_RETURN_IF_ERROR(Take());
  refused_ = true;
  return LookAgain();
}

}  // namespace addons
