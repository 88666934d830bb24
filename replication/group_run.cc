#include "replication/group_run.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "base/status_macros.h"

namespace addons {
namespace {

/// A result that is older is looked at once more before anything is changed.
constexpr std::chrono::seconds kFresh{5};
/// A member that waits occupies a thread.
constexpr size_t kThreads = 256;

Members MembersOf(const GroupTarget& target) {
  Members members;
  for (const std::string& volume_id : target.members) {
    members.emplace_back().volume_id = volume_id;
  }
  return members;
}

}  // namespace

GroupRun::GroupRun(OperationContext& context, const ReplicationOptions& options,
                   const GroupTarget& target, GroupText text, MemberVerb verb)
    : options_(options),
      target_(target),
      text_(std::move(text)),
      verb_(std::move(verb)),
      board_(context, text_, MembersOf(target), options.group_members_at_once) {
}

std::vector<size_t> GroupRun::OlderThan(SteadyTime time) {
  const Members members = board_.members();
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
  const Members members = board_.members();
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
  RunParallel(members.size(), kThreads,
              [&](size_t i) { Work(members[i], mode); });
  return board_.stopped();
}

void GroupRun::Work(size_t member, MemberContext::Mode mode) {
  // A refusal must still be true when the last member comes to its result; the
  // clocks of the promote table also want to be asked at least once a minute.
  while (Attempt(member, mode) && !board_.AllEnded()) {
    if (!board_.Sleep(options_.poll_interval).ok()) return;
  }
}

/// Whether it is to be repeated while others are not at their end.
bool GroupRun::Attempt(size_t member, MemberContext::Mode mode) {
  const GroupBoard::Slot slot(board_);
  MemberContext context(board_, member, mode, options_.promote_patience);
  const VolumeTarget target{target_.members[member], target_.user.Clone()};
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
  const Members members = run.members();
  return AnyFailed(members) ? run.Failure(GroupCode(members))
                            : absl::OkStatus();
}

}  // namespace addons
