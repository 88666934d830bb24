#ifndef ADDONS_OPERATION_OPERATION_CONTEXT_H_
#define ADDONS_OPERATION_OPERATION_CONTEXT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "operation/work_memory.h"

namespace addons {

/// What a running operation sees of the operation table.
///
/// An operation has two phases. Until BeginMutation() it only looks and waits:
/// it ends as soon as nobody waits for it, or when a verb that supersedes it
/// arrives. From BeginMutation() on it runs to its end whatever its callers do;
/// one that yields (OperationSpec) is still ended for others then.
///
/// Used by the operation's own thread, except stop_token().
class OperationContext {
 public:
  virtual ~OperationContext() = default;

  virtual Clock& clock() = 0;

  /// "waiting for the demotion", "demoting": shown to those who ask or wait.
  virtual void Step(absl::string_view step) = 0;
  /// Of what it waits for: since when, for how long and until when, as one
  /// sentence; empty: that is not known. Stands until it is told anew, and
  /// until BeginMutation().
  virtual void TellClock(absl::string_view /*clock*/) {}
  /// How far the current step is, e.g. objects.
  virtual void Progress(uint64_t done, uint64_t total) = 0;
  /// What a caller is told when its deadline comes before the result. Without
  /// one it is ABORTED with verb, age and step. An OK status withdraws it.
  virtual void SetPending(absl::Status pending) = 0;

  /// Waits. OK after `duration`; otherwise what the operation must return at
  /// once: CANCELLED (nobody waits any more, cancelled by the administrator,
  /// shutdown) or ABORTED (superseded). After BeginMutation() only shutdown, an
  /// administrator's cancel and, where the operation yields, another verb cut
  /// the wait short.
  virtual absl::Status SleepFor(SteadyDuration duration) = 0;

  /// SleepFor() for work that can begin anew, so that it costs no worker
  /// meanwhile: every wait for a state, however short. OK: it has waited, go
  /// on. Otherwise return that status at once: the work is run again from its
  /// start after `duration` (RunsAgain()), or is to end, as after SleepFor().
  /// Since when something is waited for is kept in memory(): a wait that began
  /// anew each time would never end.
  virtual absl::Status LookAgainAfter(SteadyDuration duration) {
    return SleepFor(duration);
  }
  /// What the work keeps for when it is run again.
  virtual WorkMemory& memory() = 0;

  /// Call immediately before the first change, after re-reading what the
  /// decision rests on. Not OK: return that status and change nothing. OK when
  /// called again.
  [[nodiscard]] virtual absl::Status BeginMutation() = 0;
  /// As BeginMutation(), before a change that undoes what an earlier call of
  /// this verb has done too early, also where BeginMutation() refuses.
  [[nodiscard]] virtual absl::Status BeginCorrection() {
    return BeginMutation();
  }
  virtual bool mutating() const = 0;
  /// BeginMutation() refuses whatever happens: to see how far a verb comes.
  virtual bool only_looks() const { return false; }

  /// The latest deadline of those who wait: when waiting longer helps nobody.
  /// That is the moment, by clock(), at which the last of them is answered
  /// without a result. nullopt: nobody waits.
  virtual std::optional<SteadyTime> LatestDeadline() const = 0;
  /// Until when something is tried: as long as somebody waits, and for
  /// `patience` at most; just for `patience` when nobody waits.
  SteadyTime DeadlineWithin(SteadyDuration patience) {
    const SteadyTime latest = clock().Now() + patience;
    return std::min(latest, LatestDeadline().value_or(latest));
  }

  /// Requested when SleepFor() is cut short: after BeginMutation() on cancel,
  /// shutdown and, where the operation yields, for another verb only. For
  /// progress callbacks (thread-safe).
  virtual std::stop_token stop_token() const = 0;
};

/// What LookAgainAfter() answers when the work is run again. Nobody else sees
/// it.
absl::Status RunAgain();
bool RunsAgain(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_OPERATION_OPERATION_CONTEXT_H_
