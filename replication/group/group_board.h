#ifndef ADDONS_REPLICATION_GROUP_GROUP_BOARD_H_
#define ADDONS_REPLICATION_GROUP_GROUP_BOARD_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "operation/operation_context.h"
#include "replication/group/member_status.h"

namespace addons {

/// What the members of a group verb share while they run at the same time: the
/// one operation, on which they make their calls one after the other, and how
/// each of them stands, from which it tells the operation its step, progress
/// and pending answer.
///
/// At most `slots` members are at work at a time, first come, first served; one
/// that sleeps is not at work. Thread-safe.
class GroupBoard {
 public:
  /// `operation` is not owned; nobody else uses it meanwhile.
  GroupBoard(OperationContext& operation, GroupText text, GroupMembers members,
             size_t slots);
  GroupBoard(const GroupBoard&) = delete;
  GroupBoard& operator=(const GroupBoard&) = delete;

  /// A member at work; gives its slot back when it dies.
  class Slot {
   public:
    explicit Slot(GroupBoard& board) : board_(board) { board_.TakeSlot(); }
    ~Slot() { board_.ReturnSlot(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    GroupBoard& board_;
  };

  // --- the operation
  Clock& clock() const { return clock_; }
  std::stop_token stop_token() const { return stop_; }
  /// Of a member that has a slot: returns it, sleeps, takes one again.
  absl::Status SleepAtWork(SteadyDuration duration);
  /// Of a member that has none.
  absl::Status Sleep(SteadyDuration duration);
  /// OperationContext::LookAgainAfter(), while no member is at work.
  absl::Status LookAgainAfter(SteadyDuration duration);
  absl::Status BeginMutation();
  bool mutating();
  std::optional<SteadyTime> LatestDeadline();
  /// What the operation must return at once; OK: it goes on.
  absl::Status stopped();

  // --- the members
  /// From here on `members` are looked at (again): none of them has come to a
  /// result yet.
  void Begin(const std::vector<size_t>& members);
  /// `reason` is what it waits for, `clock` what it tells of that
  /// (OperationContext::TellClock()).
  void Waits(size_t member, absl::Status reason, std::string clock);
  void Runs(size_t member);
  void Progress(size_t member, uint64_t done, uint64_t total);
  void Ends(size_t member, MemberState state, absl::Status status);
  /// Whether all that Begin() named have come to a result and keep it.
  bool AllEnded();
  /// Those that have not.
  std::vector<size_t> Open();
  GroupMembers members();

 private:
  struct Objects {
    uint64_t done = 0;
    uint64_t total = 0;
  };

  void TakeSlot();
  void ReturnSlot();
  void Set(size_t member, MemberState state, absl::Status status, bool open)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Noted(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const GroupText text_;
  Clock& clock_;
  const std::stop_token stop_;

  Mutex mutex_;
  OperationContext& operation_ ABSL_GUARDED_BY(mutex_);
  GroupMembers members_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> open_ ABSL_GUARDED_BY(mutex_);  // no result yet
  std::vector<Objects> objects_ ABSL_GUARDED_BY(mutex_);
  /// Of those that wait, by member.
  std::map<size_t, std::string> clocks_ ABSL_GUARDED_BY(mutex_);
  absl::Status stopped_ ABSL_GUARDED_BY(mutex_);

  Mutex slots_mutex_;
  CondVar slots_changed_;
  size_t free_slots_ ABSL_GUARDED_BY(slots_mutex_);
  uint64_t next_ticket_ ABSL_GUARDED_BY(slots_mutex_) = 0;
  std::deque<uint64_t> queue_ ABSL_GUARDED_BY(slots_mutex_);
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_GROUP_GROUP_BOARD_H_
