#include "replication/group/group_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "base/status_macros.h"

namespace addons {
namespace {

/// A result that is older is looked at once more before anything is changed.
constexpr std::chrono::seconds kFresh{5};

GroupMembers MembersOf(const GroupTarget& target) {
  GroupMembers members;
  for (const VolumeHandle& volume_id : target.members) {
    members.emplace_back().volume_id = volume_id;
  }
  return members;
}

}  // namespace

/// Whose turn it is: that of the member whose time comes first.
class GroupRun::Turns {
 public:
  struct Turn {
    SteadyTime due;
    size_t member;
  };

  /// All at once, in this order.
  Turns(SteadyTime due, const std::vector<size_t>& members)
      : left_(members.size()) {
    for (const size_t member : members) turns_.emplace(due, member);
  }
  /// The next turn, for a thread that may wait in it or not; one that may goes
  /// first. nullopt: all members have ended.
  std::optional<Turn> Take(bool may_wait) {
    const MutexLock lock(mutex_);
    if (may_wait) ++idle_;
    while (left_ > 0 &&
           (turns_.empty() || (!may_wait && turns_.size() <= idle_))) {
      changed_.Wait(mutex_);
    }
    if (may_wait) --idle_;
    if (left_ == 0) return std::nullopt;
    const auto [due, member] = *turns_.begin();
    turns_.erase(turns_.begin());
    return Turn{due, member};
  }
  /// One that was taken comes again.
  void Add(const Turn& turn) {
    const MutexLock lock(mutex_);
    turns_.emplace(turn.due, turn.member);
    changed_.NotifyAll();
  }
  /// One that was taken does not.
  void End() {
    const MutexLock lock(mutex_);
    --left_;
    changed_.NotifyAll();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::multimap<SteadyTime, size_t> turns_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);      // with those that were taken
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that may wait
};

GroupRun::GroupRun(OperationContext& context, const ReplicationOptions& options,
                   const GroupTarget& target, GroupText text, MemberVerb verb)
    : options_(options),
      target_(target),
      text_(std::move(text)),
      verb_(std::move(verb)),
      board_(context, text_, MembersOf(target), options.group_members_at_once) {
}

std::vector<size_t> GroupRun::OlderThan(SteadyTime time) {
  const GroupMembers members = board_.members();
  std::vector<size_t> old;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].at < time) old.push_back(i);
  }
  return old;
}

absl::Status GroupRun::Probe() {
  std::vector<size_t> members(target_.members.size());
  std::iota(members.begin(), members.end(), size_t{0});
  ADDONS_RETURN_IF_ERROR(Pass(members, MemberContext::Mode::kProbe));
  while (true) {
    const SteadyTime begin = board_.clock().Now();
    members = OlderThan(begin - kFresh);
    if (members.empty()) return absl::OkStatus();
    ADDONS_RETURN_IF_ERROR(Pass(members, MemberContext::Mode::kProbe));
    // Some results come only with the next report of rbd-mirror, each at
    // another time: they will never all be fresh at once. But when somebody had
    // to be waited for again, the others may have changed meanwhile.
    if (board_.clock().Now() - begin < options_.settle_time) {
      return absl::OkStatus();
    }
  }
}

absl::Status GroupRun::RunReady() {
  const GroupMembers members = board_.members();
  std::vector<size_t> ready;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].state == MemberState::kReady) ready.push_back(i);
  }
  return Pass(ready, MemberContext::Mode::kRun);
}

absl::Status GroupRun::RunAll() {
  std::vector<size_t> all(target_.members.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return Pass(all, MemberContext::Mode::kRun);
}

absl::Status GroupRun::Pass(const std::vector<size_t>& members,
                            MemberContext::Mode mode) {
  board_.Begin(members);
  Turns turns(board_.clock().Now(), members);
  const size_t most = options_.group_threads;
  const size_t threads = std::min(members.size(), most);
  const size_t waiting =
      members.size() > most ? most - options_.group_looking_threads : threads;
  RunParallel(threads, threads,
              [&](size_t thread) { Work(turns, mode, thread < waiting); });
  return board_.stopped();
}

// A refusal must still be true when the last member comes to its result; the
// clocks of the promote table also want to be asked at least once a minute. So
// members that have come to a result early are looked at again, in turn: no
// thread belongs to one of them, and each gets its turns, however many there
// are.
void GroupRun::Work(Turns& turns, MemberContext::Mode mode, bool may_wait) {
  while (const auto turn = turns.Take(may_wait)) {
    bool again = false;
    try {
      again = AwaitTurn(turn->due) && Attempt(turn->member, mode, may_wait) &&
              !board_.AllEnded();
    } catch (...) {
      turns.End();
      throw;
    }
    if (again) {
      turns.Add({board_.clock().Now() + options_.poll_interval, turn->member});
    } else {
      turns.End();
    }
  }
}

/// Whether there is still something to be done then.
bool GroupRun::AwaitTurn(SteadyTime due) {
  if (!board_.stopped().ok()) return false;
  const SteadyTime now = board_.clock().Now();
  return due <= now || (!board_.AllEnded() && board_.Sleep(due - now).ok());
}

/// Whether it is to be repeated while others are not at their end.
bool GroupRun::Attempt(size_t member, MemberContext::Mode mode, bool may_wait) {
  const GroupBoard::Slot slot(board_);
  MemberContext context(board_, member, mode, may_wait,
                        options_.promote_patience);
  const VolumeTarget target = target_.Member(member);
  try {
    absl::Status status = verb_(context, target);
    if (mode == MemberContext::Mode::kProbe && context.reached_change()) {
      board_.Ends(member, MemberState::kReady, absl::OkStatus());
      return false;
    }
    if (status.ok()) {
      board_.Ends(member, MemberState::kDone, absl::OkStatus());
      return false;
    }
    // The operation ends here; what the member waited for stays true.
    if (status == board_.stopped()) return false;
    if (context.gave_way()) return true;
    board_.Ends(member, MemberState::kFailed, std::move(status));
  } catch (...) {
    board_.Ends(member, MemberState::kFailed,
                absl::InternalError("an unexpected exception"));
    throw;
  }
  return mode == MemberContext::Mode::kProbe;
}

absl::Status GroupRun::Failure(absl::StatusCode code) {
  return absl::Status(code, DescribeFailure(text_, board_.members()));
}

absl::Status RunAllOrNone(GroupRun& run) {
  ADDONS_RETURN_IF_ERROR(run.Probe());
  if (!AnyFailed(run.members())) {
    ADDONS_RETURN_IF_ERROR(run.RunReady());
  }
  const GroupMembers members = run.members();
  return AnyFailed(members) ? run.Failure(GroupCode(members))
                            : absl::OkStatus();
}

}  // namespace addons
