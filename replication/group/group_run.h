#ifndef ADDONS_REPLICATION_GROUP_GROUP_RUN_H_
#define ADDONS_REPLICATION_GROUP_GROUP_RUN_H_

#include <any>
#include <cstddef>
#include <functional>
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
  std::vector<std::any> memories;  // of each member's verb, while it waits
  /// Which of them are looked at until none of these waits; empty: not begun.
  std::vector<size_t> pass{};
  SteadyTime began{};  // the pass
  bool first = true;
};

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
  /// Nothing is owned. Uses of `context` while this lives go through this. With
  /// `rests` Probe() waits by OperationContext::LookAgainAfter(), so that it
  /// costs no thread, and finds there what it knew when it is run again.
  GroupRun(OperationContext& context, const ReplicationOptions& options,
           const GroupTarget& target, GroupText text, MemberVerb verb,
           ProbeMemory* rests = nullptr);

  /// Runs the verb of each member up to its first change, and repeats the early
  /// ones, until none waits any more; then looks once more at those whose
  /// result is older than a few seconds. Afterwards each member is kReady,
  /// kDone or kFailed. Not OK: what the operation must return at once.
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
  void Work(Turns& turns, bool may_wait);
  bool AwaitTurn(SteadyTime due);
  bool Attempt(size_t member, MemberContext::Mode mode, bool may_wait,
               std::any& memory);

  const ReplicationOptions& options_;
  const GroupTarget& target_;
  const GroupText text_;
  const MemberVerb verb_;
  ProbeMemory own_memory_;
  ProbeMemory& memory_;
  const bool rests_;
  GroupBoard board_;
};

/// Probe(), and RunReady() if no member fails: for verbs that change all
/// members or, where one of them cannot be changed, none. The code is
/// GroupCode().
absl::Status RunAllOrNone(GroupRun& run);

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_GROUP_RUN_H_
