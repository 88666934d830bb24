#ifndef ADDONS_LEASE_LEASED_CONTEXT_H_
#define ADDONS_LEASE_LEASED_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "lease/keeper.h"
#include "lease/target.h"
#include "operation/operation_context.h"

namespace addons {

/// The context of a verb that changes something which another daemon may change
/// at the same time: BeginMutation() takes the lease on it first. What the verb
/// has looked at before may be old by then, so the first BeginMutation() after
/// that refuses, and the verb is run again with the lease held: RunLeased().
///
/// A verb that waits, and has not begun to change anything, keeps the lease
/// only for a while. One that waits for the lease of another daemon, or without
/// one, holds no worker where RunLeased() says so. Used by one thread.
class LeasedContext final : public OperationContext {
 public:
  /// Neither is owned. `verb` is shown to those who wait.
  LeasedContext(OperationContext& inner, LeaseKeeper& keeper, std::string verb)
      : inner_(inner), keeper_(keeper), verb_(std::move(verb)) {}
  /// What is still held ends by itself, as if the process had died: give it
  /// back.
  ~LeasedContext() override;
  LeasedContext(const LeasedContext&) = delete;
  LeasedContext& operator=(const LeasedContext&) = delete;

  /// What the lease is about, from now on: before BeginMutation(). One on
  /// something else is given back.
  void Aim(LeaseTarget target);
  /// Takes the lease, so that the first BeginMutation() does not refuse: for a
  /// verb that looks afterwards. Waits for another daemon that has it, until
  /// nobody waits any more and for a bounded time; then ABORTED, which names
  /// that one. Other errors of LeaseKeeper::TryTake() and SleepFor().
  absl::Status Take();
  /// Takes it as Take() does, if that is possible at once: for a verb that is
  /// likely to change something, and would otherwise look twice. Where it is
  /// not, BeginMutation() asks for it, and waits.
  void TakeIfFree();
  void GiveBack();

  /// true, once: BeginMutation() has refused, because the lease was just taken.
  bool LooksAgain();

  /// The lease is waited for without a worker from now on: the work is run
  /// again from its start, which calls this first. Not OK: to be returned at
  /// once, the lease that it waits for is not free yet.
  absl::Status TakeAwaited();
  /// The work is run again later, whatever it answers now: RunAgain().
  bool gives_way() const { return gives_way_; }

  Clock& clock() override { return inner_.clock(); }
  void Step(absl::string_view step) override { inner_.Step(step); }
  void TellClock(absl::string_view clock) override { inner_.TellClock(clock); }
  void Progress(uint64_t done, uint64_t total) override {
    inner_.Progress(done, total);
  }
  void SetPending(absl::Status pending) override {
    inner_.SetPending(std::move(pending));
  }
  absl::Status SleepFor(SteadyDuration duration) override;
  /// For a while as SleepFor() when BeginMutation() has refused: such a verb is
  /// about to change something. Otherwise without the lease.
  absl::Status LookAgainAfter(SteadyDuration duration) override;
  WorkMemory& memory() override { return inner_.memory(); }
  /// UNAVAILABLE also: the lease was lost after the first change.
  [[nodiscard]] absl::Status BeginMutation() override;
  [[nodiscard]] absl::Status BeginCorrection() override;
  bool mutating() const override { return inner_.mutating(); }
  bool only_looks() const override { return inner_.only_looks(); }
  std::optional<SteadyTime> LatestDeadline() const override {
    return inner_.LatestDeadline();
  }
  std::stop_token stop_token() const override { return inner_.stop_token(); }

 private:
  SteadyDuration Idle() const;
  absl::Status GiveWay(SteadyDuration duration);
  absl::Status AwaitTurn();
  void Hold(std::shared_ptr<LeaseKeeper::Held> lease);

  OperationContext& inner_;
  LeaseKeeper& keeper_;
  const std::string verb_;
  std::optional<LeaseTarget> target_;
  std::shared_ptr<LeaseKeeper::Held> held_;
  SteadyTime taken_at_{};
  int looks_ = 0;         // how often the verb was run again with the lease
  bool refused_ = false;  // the verb is to look again
  bool begun_ = false;    // to change something, with this lease
  bool resumes_ = false;  // TakeAwaited()
  bool gives_way_ = false;
};

/// Whether BeginMutation() or SleepFor() of a LeasedContext has answered that
/// the verb is to look again, now or later: what only logs other refusals
/// returns this one.
bool SaysLookAgain(const absl::Status& status);

/// How another daemon's lease is waited for.
enum class LeaseWaits {
  kWithoutWorker,  // the work of the operation can begin anew: LookAgainAfter()
  kInPlace,        // it is a part of the work, and what came before costs a lot
};

/// Runs `body`, and again when its look was older than the lease. A state that
/// changes each time is waited for by the body itself.
template <typename Body>
auto RunLeased(OperationContext& context, LeaseKeeper& keeper, std::string verb,
               const Body& body, LeaseWaits waits = LeaseWaits::kWithoutWorker)
    -> decltype(body(std::declval<LeasedContext&>())) {
  // Each time it has waited in between for longer than it keeps the lease.
  constexpr int kMostLooks = 100;
  LeasedContext leased(context, keeper, std::move(verb));
  if (waits == LeaseWaits::kWithoutWorker) {
    if (absl::Status taken = leased.TakeAwaited(); !taken.ok()) return taken;
  }
  auto result = body(leased);
  for (int look = 0; leased.LooksAgain() && look < kMostLooks; ++look) {
    result = body(leased);
  }
  leased.GiveBack();
  if (leased.gives_way()) return RunAgain();
  return result;
}

}  // namespace addons

#endif  // ADDONS_LEASE_LEASED_CONTEXT_H_
