#include "lease/leased_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kMostDoublings = 6;
constexpr char kLookAgain[] = "rbd-addons/look-again";

/// Another daemon's lease that is waited for, from one run of the work to the
/// next.
struct AwaitedLease {
  std::optional<LeaseTarget> target;  // without its cluster
  /// Not owned: a connection that was replaced must be free to end.
  std::weak_ptr<Cluster> cluster;
  SteadyTime until{};
  bool waited = false;  // and has said so
};

/// Never leaves RunLeased().
absl::Status LookAgain() {
  absl::Status status = absl::AbortedError(
      "the lease was taken just now; what was seen before is looked at again");
  status.SetPayload(kLookAgain, absl::Cord());
  return status;
}

/// Whatever connection it is asked for on.
bool IsSame(const LeaseTarget& one, const LeaseTarget& other) {
  return one.object == other.object &&
         one.place.cluster_id == other.place.cluster_id &&
         one.place.pool_id == other.place.pool_id &&
         one.place.rados_namespace == other.place.rados_namespace;
}

}  // namespace

bool SaysLookAgain(const absl::Status& status) {
  return status.GetPayload(kLookAgain).has_value() || RunsAgain(status);
}

LeasedContext::~LeasedContext() {
  if (held_ != nullptr) keeper_.Forget(held_);
}

void LeasedContext::Aim(LeaseTarget target) {
  const bool same = target_.has_value() && IsSame(*target_, target) &&
                    target_->place.cluster == target.place.cluster;
  if (!same) GiveBack();
  target_ = std::move(target);
}

absl::Status LeasedContext::Take() {
  if (held_ != nullptr) return absl::OkStatus();
  if (!target_.has_value()) {
    return absl::InternalError("nobody said what the lease is about");
  }
  if (gives_way_) return RunAgain();
  absl::Status taken = AwaitTurn();
  if (!RunsAgain(taken)) memory().Forget<AwaitedLease>();
  return taken;
}

void LeasedContext::TakeIfFree() {
  if (held_ != nullptr || !target_.has_value() || gives_way_ || only_looks()) {
    return;
  }
  auto outcome = keeper_.TryTake(*target_, verb_);
  if (outcome.ok() && outcome->lease != nullptr) {
    Hold(std::move(outcome->lease));
  }
}

void LeasedContext::Hold(std::shared_ptr<LeaseKeeper::Held> lease) {
  held_ = std::move(lease);
  taken_at_ = clock().Now();
  begun_ = false;
}

absl::Status LeasedContext::AwaitTurn() {
  const LeaseOptions& options = keeper_.options();
  auto& awaited = memory().Of<AwaitedLease>();
  if (!awaited.target.has_value() || !IsSame(*awaited.target, *target_)) {
    awaited = {*target_, target_->place.cluster,
               inner_.DeadlineWithin(options.patience)};
    awaited.target->place.cluster.reset();
  }
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(LeaseKeeper::Outcome outcome,
                            keeper_.TryTake(*target_, verb_));
    if (outcome.lease != nullptr) {
      Hold(std::move(outcome.lease));
      if (std::exchange(awaited.waited, false)) {
        inner_.SetPending(absl::OkStatus());
      }
      return absl::OkStatus();
    }
    absl::Status busy = absl::AbortedError(
        absl::StrCat("Failed to ", verb_, " ", target_->text,
                     ": another daemon is at work on it: ", outcome.holder,
                     "; repeat the call"));
    if (clock().Now() >= awaited.until) return busy;
    inner_.Step(absl::StrCat("waiting for another daemon: ", outcome.holder));
    inner_.SetPending(std::move(busy));
    awaited.waited = true;
    ADDONS_RETURN_IF_ERROR(resumes_ ? GiveWay(options.poll)
                                    : inner_.SleepFor(options.poll));
  }
}

// What the work looks at costs more than to ask for the lease, so that comes
// first. Where it is not to be had, the work hears of it when it asks for it
// itself: it may not need the lease any more.
absl::Status LeasedContext::TakeAwaited() {
  resumes_ = true;
  const auto& awaited = memory().Of<AwaitedLease>();
  if (!awaited.target.has_value() || clock().Now() >= awaited.until) {
    return absl::OkStatus();
  }
  LeaseTarget target = *awaited.target;
  target.place.cluster = awaited.cluster.lock();
  if (target.place.cluster == nullptr) return absl::OkStatus();
  target_ = std::move(target);
  const absl::Status taken = AwaitTurn();
  if (taken.ok()) {
    memory().Forget<AwaitedLease>();
    ++looks_;
  }
  return RunsAgain(taken) ? taken : absl::OkStatus();
}

void LeasedContext::GiveBack() {
  if (held_ == nullptr) return;
  keeper_.GiveBack(std::exchange(held_, nullptr));
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
  if (gives_way_) return RunAgain();
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
  if (gives_way_) return RunAgain();
  if (refused_) return LookAgain();
  const bool about_to_change = looks_ > 0 && clock().Now() - taken_at_ < Idle();
  if (held_ != nullptr && (mutating() || about_to_change)) {
    return SleepFor(duration);
  }
  GiveBack();
  return GiveWay(duration);
}

/// What comes after this must not change anything, whatever it makes of it.
absl::Status LeasedContext::GiveWay(SteadyDuration duration) {
  absl::Status status = inner_.LookAgainAfter(duration);
  gives_way_ = RunsAgain(status);
  return status;
}

absl::Status LeasedContext::BeginMutation() {
  if (inner_.only_looks() && !gives_way_) return inner_.BeginMutation();
  return BeginCorrection();
}

absl::Status LeasedContext::BeginCorrection() {
  if (refused_) return LookAgain();
  if (held_ != nullptr) {
    absl::Status kept = keeper_.Check(held_);
    if (kept.ok()) {
      ADDONS_RETURN_IF_ERROR(inner_.BeginCorrection());
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
