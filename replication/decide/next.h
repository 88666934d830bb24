#ifndef ADDONS_REPLICATION_DECIDE_NEXT_H_
#define ADDONS_REPLICATION_DECIDE_NEXT_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace addons {

/// What a verb does next with a volume: one effect, after which it looks again.
enum class Step {
  kAnswer,  // Next::code and Next::reason
  // --- waits, which change nothing; callers that leave get code and reason
  kWait,
  kAwaitWorkloadEnd,  // of a demotion: the image is in use
  kAwaitFollower,     // of a demotion: no peer follows this primary yet
  kAwaitReturn,       // of a demotion: a workload may be between two watches
  kAwaitRelease,      // of a primary: rbd-mirror may take the role away
  kAwaitFollowers,    // of a primary that took its own demotion back
  kAwaitHalfEnable,   // somebody enables it, or has died at that
  kAwaitReports,      // of a resync: both sites tell what they see
  // --- reads that cost an operation of their own; then it is judged again
  kSeeRelease,  // whether rbd-mirror of this site has the image open
  kReadRescue,  // the record of the rescue image
  kReadPool,    // how the pool is mirrored, and the room for snapshots
  kReadError,   // of a resync: whether an error is a lasting one

  // --- Promote, of a secondary
  kPromote,         // the demotion is here and complete
  kPromoteByForce,  // of a complete copy
  kRescue,  // by force, and the last complete state is brought back afterwards
  kResumeDemotionCopy,  // rbd-mirror has given it up; then it is waited for
  // --- Promote, of a primary: what a promotion has left to do
  kSaveHalfCopy,      // of a copy that began while the site was promoted
  kMakeWritable,      // take the mark of a secondary away
  kRemoveHalfCopies,  // incomplete snapshots of a peer
  kRestore,           // the last complete state, from the rescue image
  kRemoveRescue,      // the rescue image is not needed any more
  kRollBack,          // to the point that was asked for
  kCompleteSnapshot,  // make a mirror snapshot, where the newest is incomplete
  kYield,             // demote again, and note that the role was given back
  kForgetDemotion,    // the notes of a demotion that is over
  kForgetResync,      // a resync request that would delete this copy later
  kCorrectImageId,    // in the journal
  kRememberClone,     // note that the image is a clone
  kKeepSchedule,      // the schedule is the wanted one

  // --- Demote
  kRepair,  // an own demotion that is not complete: promote it first
  kDemote,

  // --- Enable
  kClearHalfEnable,    // mirroring is switched off again, by force
  kTakeOverFromGroup,  // the replication is the volume's own from now on
  kNoteVolume,         // what the other site has to know the volume by
  kPrepareParent,      // of a clone: detach it, or see that it may stay
  kEnable,

  // --- Disable
  kForgetGroup,  // the note that it was mirrored for its group
  kDisable,
  kDisableByForce,
  kUndoEnable,  // likewise, of what an enable left that died

  // --- Resync
  kReady,    // this copy is in step: what a resync has left to do
  kRequest,  // delete this copy and have it copied anew
};

/// What comes next, and which row of the verb's table says so.
struct Next {
  Step step = Step::kAnswer;
  /// Of an answer, or of what those are answered who do not wait.
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  /// For a person: what is seen, what is missing, what to do.
  std::string reason;
  /// The row's name, as docs/replication-decisions.md has it.
  absl::string_view row{};

  bool answers() const { return step == Step::kAnswer; }
  bool waits() const {
    return step >= Step::kWait && step <= Step::kAwaitReports;
  }
};

inline Next Answer(absl::StatusCode code, std::string reason) {
  return {Step::kAnswer, code, std::move(reason)};
}
/// UNAVAILABLE for callers that leave.
inline Next Wait(std::string reason) {
  return {Step::kWait, absl::StatusCode::kUnavailable, std::move(reason)};
}
/// `reason` tells `explain` what the step means, where there is more to say.
inline Next Do(Step step, std::string reason = "") {
  return {step, absl::StatusCode::kOk, std::move(reason)};
}

/// What a verb has done within one run, by step.
class Done {
 public:
  void Count(Step step) { ++counts_[static_cast<size_t>(step)]; }
  int Of(Step step) const { return counts_[static_cast<size_t>(step)]; }

 private:
  std::array<int, static_cast<size_t>(Step::kRequest) + 1> counts_{};
};

/// What a row says; nullopt: it is not about what was seen.
using Judged = std::optional<Next>;

/// One row of a table: a name and what it judges. Pure.
template <typename Seen>
struct Rule {
  absl::string_view name;
  Judged (*judge)(const Seen&);
};

/// What the first row says that is about `seen`, but for what `passed` (of a
/// Next) is true of. The last row of a table is about everything.
template <typename Seen, typename Passed>
Next FirstOf(absl::Span<const Rule<Seen>> table, const Seen& seen,
             const Passed& passed) {
  for (const Rule<Seen>& row : table) {
    Judged next = row.judge(seen);
    if (!next.has_value()) continue;
    next->row = row.name;
    if (!passed(*next)) return *std::move(next);
  }
  return Answer(absl::StatusCode::kInternal, "no row is about what was seen");
}

template <typename Seen>
Next FirstOf(absl::Span<const Rule<Seen>> table, const Seen& seen) {
  return FirstOf(table, seen, [](const Next&) { return false; });
}

}  // namespace addons

#endif  // ADDONS_REPLICATION_DECIDE_NEXT_H_
