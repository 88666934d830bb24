#ifndef ADDONS_REPLICATION_GROUP_MEMBER_CONTEXT_H_
#define ADDONS_REPLICATION_GROUP_MEMBER_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/group/group_board.h"

namespace addons {

/// The context with which the verb of one volume runs for one member of a
/// group.
///
/// To probe is to run the verb up to its first change: BeginMutation() refuses,
/// and by its contract the verb then changes nothing. So what a verb would
/// answer is learnt from the verb itself. BeginCorrection() does not refuse.
///
/// mutating() is about this member alone: a verb that has not changed its
/// member yet must look and wait as carefully as ever, although other members
/// have been changed. But such a wait ends: with the last caller, or when
/// `patience` has passed, so that it does not hold the group for ever.
class MemberContext final : public OperationContext {
 public:
  enum class Mode { kProbe, kRun };

  /// Nothing is owned. `member` has a slot of the board; `memory` is what its
  /// verb keeps for when it is run again. Without `may_wait` the verb ends
  /// where it would wait for a state before its first change, to be run again.
  MemberContext(GroupBoard& board, size_t member, Mode mode, bool may_wait,
                SteadyDuration patience, WorkMemory& memory)
      : board_(board),
        member_(member),
        mode_(mode),
        may_wait_(may_wait),
        give_up_(board.clock().Now() + patience),
        memory_(memory) {}

  /// Whether the verb came to its first change.
  bool reached_change() const { return reached_change_; }
  /// It would have waited for so long and may not; nullopt: it has not.
  std::optional<SteadyDuration> gave_way() const { return gave_way_; }

  Clock& clock() override { return board_.clock(); }
  void Step(absl::string_view step) override { step_ = std::string(step); }
  void TellClock(absl::string_view clock) override {
    clock_ = std::string(clock);
  }
  void Progress(uint64_t done, uint64_t total) override {
    board_.Progress(member_, done, total);
  }
  void SetPending(absl::Status pending) override {
    pending_ = std::move(pending);
  }
  absl::Status SleepFor(SteadyDuration duration) override;
  absl::Status LookAgainAfter(SteadyDuration duration) override;
  WorkMemory& memory() override { return memory_; }
  [[nodiscard]] absl::Status BeginMutation() override;
  /// Not put off until the other members are ready.
  [[nodiscard]] absl::Status BeginCorrection() override;
  bool mutating() const override { return mutating_; }
  bool only_looks() const override { return mode_ == Mode::kProbe; }
  std::optional<SteadyTime> LatestDeadline() const override {
    return board_.LatestDeadline();
  }
  std::stop_token stop_token() const override { return board_.stop_token(); }

 private:
  absl::Status NoteWait();

  GroupBoard& board_;
  const size_t member_;
  const Mode mode_;
  const bool may_wait_;
  const SteadyTime give_up_;
  WorkMemory& memory_;
  std::string step_;
  std::string clock_;
  absl::Status pending_;
  bool reached_change_ = false;
  std::optional<SteadyDuration> gave_way_;
  bool mutating_ = false;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_MEMBER_CONTEXT_H_
