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

/// All that is remembered of the members, or nothing when they are others.
GroupMembers Remembered(const GroupTarget& target, ProbeMemory& memory) {
  const bool same =
      std::equal(memory.members.begin(), memory.members.end(),
                 target.members.begin(), target.members.end(),
                 [](const GroupMember& member, const VolumeHandle& volume_id) {
                   return member.volume_id == volume_id;
                 });
  if (same && !memory.members.empty()) return memory.members;
  memory = ProbeMemory{MembersOf(target),
                       std::vector<WorkMemory>(target.members.size()),
                       std::vector<SteadyTime>(target.members.size())};
  return memory.members;
}

/// Those of its pass that had come to no result.
std::vector<size_t> StillWaiting(const ProbeMemory& memory) {
  std::vector<size_t> waiting;
  for (const size_t member : memory.pass) {
    const MemberState state = memory.members[member].state;
    if (state == MemberState::kUnseen || state == MemberState::kWaiting) {
      waiting.push_back(member);
    }
  }
  return waiting;
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
                   const GroupTarget& target, GroupText text, MemberVerb verb,
                   Ended ended)
    : options_(options),
      target_(target),
      text_(std::move(text)),
      verb_(std::move(verb)),
      memory_(context.memory().Of<ProbeMemories>()[text_.action]),
      ended_(ended),
      board_(context, text_, Remembered(target, memory_),
             options.group_members_at_once) {}

std::vector<size_t> GroupRun::OlderThan(SteadyTime time) {
  const GroupMembers members = board_.members();
  std::vector<size_t> old;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].at < time) old.push_back(i);
  }
  return old;
}

void GroupRun::BeginPass(std::vector<size_t> members) {
  board_.Begin(members);
  memory_.pass = std::move(members);
  memory_.began = board_.clock().Now();
}

absl::Status GroupRun::Probe() {
  if (memory_.pass.empty()) {
    std::vector<size_t> all(target_.members.size());
    std::iota(all.begin(), all.end(), size_t{0});
    BeginPass(std::move(all));
  } else {
    board_.Begin(StillWaiting(memory_));
  }
  while (true) {
    LookOnce();
    ADDONS_RETURN_IF_ERROR(board_.stopped());
    if (!board_.AllEnded()) {
      ADDONS_RETURN_IF_ERROR(Rest());
      continue;
    }
    const SteadyTime now = board_.clock().Now();
    // Some results come only with the next report of rbd-mirror, each at
    // another time: they will never all be fresh at once. But when somebody had
    // to be waited for again, the others may have changed meanwhile.
    const bool again =
        memory_.first || now - memory_.began >= options_.settle_time;
    memory_.first = false;
    std::vector<size_t> old = OlderThan(now - kFresh);
    if (!again || old.empty()) {
      memory_ = ProbeMemory();
      return absl::OkStatus();
    }
    BeginPass(std::move(old));
  }
}

/// Those of the pass whose turn it is.
std::vector<size_t> GroupRun::Due() {
  const SteadyTime now = board_.clock().Now();
  const std::vector<size_t> open = board_.Open();
  std::vector<size_t> due;
  for (const size_t member : open) {
    if (memory_.due[member] <= now) due.push_back(member);
  }
  if (ended_ == Ended::kRest) return due;
  const GroupMembers members = board_.members();
  for (const size_t member : memory_.pass) {
    const bool waits =
        std::find(open.begin(), open.end(), member) != open.end();
    if (!waits && members[member].at <= now - options_.longest_rest) {
      due.push_back(member);
    }
  }
  return due;
}

void GroupRun::LookOnce() {
  const std::vector<size_t> due = Due();
  RunParallel(due.size(), options_.group_members_at_once, [&](size_t i) {
    if (!board_.stopped().ok()) return;
    WorkMemory& memory = memory_.memories[due[i]];
    const std::optional<SteadyDuration> wait = Attempt(
        due[i], MemberContext::Mode::kProbe, /*may_wait=*/false, memory);
    if (!wait.has_value()) memory = WorkMemory();
    memory_.due[due[i]] =
        board_.clock().Now() + wait.value_or(SteadyDuration::zero());
  });
}

/// OK: look again now.
absl::Status GroupRun::Rest() {
  memory_.members = board_.members();
  const SteadyTime now = board_.clock().Now();
  SteadyDuration rest = options_.longest_rest;
  for (const size_t member : board_.Open()) {
    rest = std::min(rest, memory_.due[member] - now);
  }
  return board_.LookAgainAfter(std::max(rest, SteadyDuration::zero()));
}

absl::Status GroupRun::RunReady() {
  const GroupMembers members = board_.members();
  std::vector<size_t> ready;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].state == MemberState::kReady) ready.push_back(i);
  }
  return Change(ready);
}

absl::Status GroupRun::RunAll() {
  std::vector<size_t> all(target_.members.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return Change(all);
}

absl::Status GroupRun::Change(const std::vector<size_t>& members) {
  board_.Begin(members);
  Turns turns(board_.clock().Now(), members);
  std::vector<WorkMemory> memories(target_.members.size());
  const size_t most = options_.group_threads;
  const size_t threads = std::min(members.size(), most);
  const size_t waiting =
      members.size() > most ? most - options_.group_looking_threads : threads;
  RunParallel(threads, threads,
              [&](size_t thread) { Work(turns, memories, thread < waiting); });
  return board_.stopped();
}

// No thread belongs to a member: each gets its turns, however many there are,
// and one that may not wait on its thread comes again.
void GroupRun::Work(Turns& turns, std::vector<WorkMemory>& memories,
                    bool may_wait) {
  while (const auto turn = turns.Take(may_wait)) {
    std::optional<SteadyDuration> again;
    try {
      if (AwaitTurn(turn->due)) {
        again = Attempt(turn->member, MemberContext::Mode::kRun, may_wait,
                        memories[turn->member]);
      }
    } catch (...) {
      turns.End();
      throw;
    }
    if (again.has_value() && !board_.AllEnded()) {
      turns.Add({board_.clock().Now() + *again, turn->member});
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

/// After which time it is to be repeated, because it would have waited and may
/// not; nullopt: it has ended.
std::optional<SteadyDuration> GroupRun::Attempt(size_t member,
                                                MemberContext::Mode mode,
                                                bool may_wait,
                                                WorkMemory& memory) {
  const GroupBoard::Slot slot(board_);
  MemberContext context(board_, member, mode, may_wait,
                        options_.promote_patience, memory);
  const VolumeTarget target = target_.Member(member);
  try {
    absl::Status status = verb_(context, target);
    if (mode == MemberContext::Mode::kProbe && context.reached_change()) {
      board_.Ends(member, MemberState::kReady, absl::OkStatus());
      return std::nullopt;
    }
    if (status.ok()) {
      board_.Ends(member, MemberState::kDone, absl::OkStatus());
      return std::nullopt;
    }
    // The operation ends here; what the member waited for stays true.
    if (status == board_.stopped()) return std::nullopt;
    if (context.gave_way().has_value()) return context.gave_way();
    board_.Ends(member, MemberState::kFailed, std::move(status));
  } catch (...) {
    board_.Ends(member, MemberState::kFailed,
                absl::InternalError("an unexpected exception"));
    throw;
  }
  return std::nullopt;
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
