#ifndef ADDONS_REPLICATION_GROUP_GROUP_RUN_H_
#define ADDONS_REPLICATION_GROUP_GROUP_RUN_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/group/group_board.h"
#include "replication/group/member_context.h"
#include "replication/group/member_status.h"
#include "replication/group/members.h"

namespace addons {

/// The verb of one volume.
using MemberVerb =
    std::function<absl::Status(OperationContext&, const VolumeTarget&)>;

/// What GroupRun::Probe() has found so far: it stays when the work of an
/// operation is done again from the start.
struct ProbeMemory {
  GroupMembers members;
  std::vector<WorkMemory> memories;  // of each member's verb, while it waits
  std::vector<SteadyTime> due;       // and when it is to be run again
  /// Which of them are looked at until none of these waits; empty: not begun.
  std::vector<size_t> pass{};
  SteadyTime began{};  // the pass
  bool first = true;
};

/// By the text of the verb (GroupText::action): a call may probe with several.
using ProbeMemories = std::map<std::string, ProbeMemory>;

/// Runs the verb of a volume for all members of a group, concurrently, within
/// one operation.
///
// clang-format off
///   RunAllOrNone(): Probe() ─┬─ AnyFailed() ────────────────> GroupCode(), nothing was changed
///                            └─ all ready ──> RunReady() ─┬─> OK
///                                                         └─> GroupCode()
///   by force:       RunAll(), without Probe()
// clang-format on
///
/// The verb is called from several threads at a time. An exception of it is
/// thrown on.
class GroupRun {
 public:
  /// Members that have come to a result, while others wait.
  enum class Ended {
    kRest,
    kLookedAtAgain,  // what they answer must still be true at the end
  };

  /// Nothing is owned. Uses of `context` while this lives go through this.
  GroupRun(OperationContext& context, const ReplicationOptions& options,
           const GroupTarget& target, GroupText text, MemberVerb verb,
           Ended ended = Ended::kRest);

  /// Runs the verb of each member up to its first change, and repeats the early
  /// ones, until none waits any more; then looks once more at those whose
  /// result is older than a few seconds. Afterwards each member is kReady,
  /// kDone or kFailed. Not OK: what the operation must return at once. Waits by
  /// OperationContext::LookAgainAfter(), so that it costs no thread, and goes
  /// on where it was when it is run again.
  [[nodiscard]] absl::Status Probe();

  /// Runs the verb of the members that are kReady (of all of them). Afterwards
  /// each one is kDone or kFailed. Not OK as for Probe().
  [[nodiscard]] absl::Status RunReady();
  [[nodiscard]] absl::Status RunAll();

  GroupMembers members() { return board_.members(); }
  const GroupText& text() const { return text_; }

  /// DescribeFailure() with `code`.
  absl::Status Failure(absl::StatusCode code);

 private:
  class Turns;

  void BeginPass(std::vector<size_t> members);
  void LookOnce();
  absl::Status Rest();
  std::vector<size_t> OlderThan(SteadyTime time);
  absl::Status Change(const std::vector<size_t>& members);
  void Work(Turns& turns, std::vector<WorkMemory>& memories, bool may_wait);
  std::vector<size_t> Due();
  bool AwaitTurn(SteadyTime due);
  std::optional<SteadyDuration> Attempt(size_t member, MemberContext::Mode mode,
                                        bool may_wait, WorkMemory& memory);

  const ReplicationOptions& options_;
  const GroupTarget& target_;
  const GroupText text_;
  const MemberVerb verb_;
  ProbeMemory& memory_;
  const Ended ended_;
  GroupBoard board_;
};

/// Probe(), and RunReady() if no member fails: for verbs that change all
/// members or, where one of them cannot be changed, none. The code is
/// GroupCode().
absl::Status RunAllOrNone(GroupRun& run);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_GROUP_RUN_H_
