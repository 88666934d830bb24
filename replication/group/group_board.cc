#include "replication/group/group_board.h"

#include <algorithm>
#include <utility>

namespace addons {

GroupBoard::GroupBoard(OperationContext& operation, GroupText text,
                       GroupMembers members, size_t slots)
    : text_(std::move(text)),
      clock_(operation.clock()),
      stop_(operation.stop_token()),
      operation_(operation),
      members_(std::move(members)),
      open_(members_.size(), false),
      objects_(members_.size()),
      free_slots_(std::max<size_t>(slots, 1)) {}

void GroupBoard::TakeSlot() {
  const MutexLock lock(slots_mutex_);
  const uint64_t ticket = next_ticket_++;
  queue_.push_back(ticket);
  while (queue_.front() != ticket || free_slots_ == 0) {
    slots_changed_.Wait(slots_mutex_);
  }
  queue_.pop_front();
  --free_slots_;
  slots_changed_.NotifyAll();
}

void GroupBoard::ReturnSlot() {
  const MutexLock lock(slots_mutex_);
  ++free_slots_;
  slots_changed_.NotifyAll();
}

absl::Status GroupBoard::Noted(absl::Status status) {
  if (stopped_.ok()) stopped_ = status;
  return status;
}

// The sleeping itself is the clock's, so that members sleep at the same time;
// the operation then says whether it goes on.
absl::Status GroupBoard::Sleep(SteadyDuration duration) {
  clock_.SleepFor(duration, stop_);
  const MutexLock lock(mutex_);
  return Noted(operation_.SleepFor(SteadyDuration::zero()));
}

absl::Status GroupBoard::LookAgainAfter(SteadyDuration duration) {
  const MutexLock lock(mutex_);
  return Noted(operation_.LookAgainAfter(duration));
}

absl::Status GroupBoard::SleepAtWork(SteadyDuration duration) {
  ReturnSlot();
  absl::Status status = Sleep(duration);
  TakeSlot();
  return status;
}

absl::Status GroupBoard::BeginMutation() {
  const MutexLock lock(mutex_);
  return Noted(operation_.BeginMutation());
}

bool GroupBoard::mutating() {
  const MutexLock lock(mutex_);
  return operation_.mutating();
}

std::optional<SteadyTime> GroupBoard::LatestDeadline() {
  const MutexLock lock(mutex_);
  return operation_.LatestDeadline();
}

absl::Status GroupBoard::stopped() {
  const MutexLock lock(mutex_);
  return stopped_;
}

void GroupBoard::Begin(const std::vector<size_t>& members) {
  const MutexLock lock(mutex_);
  for (const size_t member : members) open_[member] = true;
  Publish();
}

void GroupBoard::Set(size_t member, MemberState state, absl::Status status,
                     bool open) {
  GroupMember& entry = members_[member];
  const bool changed =
      entry.state != state || entry.status != status || open_[member] != open;
  entry.state = state;
  entry.status = std::move(status);
  open_[member] = open;
  if (changed) Publish();
}

void GroupBoard::Waits(size_t member, absl::Status reason, std::string clock) {
  const MutexLock lock(mutex_);
  clocks_[member] = std::move(clock);
  Set(member, MemberState::kWaiting, std::move(reason), /*open=*/true);
}

void GroupBoard::Runs(size_t member) {
  const MutexLock lock(mutex_);
  clocks_.erase(member);
  Set(member, MemberState::kRunning, absl::OkStatus(), /*open=*/true);
}

void GroupBoard::Ends(size_t member, MemberState state, absl::Status status) {
  const MutexLock lock(mutex_);
  members_[member].at = clock_.Now();
  clocks_.erase(member);
  objects_[member] = Objects();
  Set(member, state, std::move(status), /*open=*/false);
}

void GroupBoard::Progress(size_t member, uint64_t done, uint64_t total) {
  const MutexLock lock(mutex_);
  objects_[member] = {done, total};
  Publish();
}

bool GroupBoard::AllEnded() {
  const MutexLock lock(mutex_);
  return std::none_of(open_.begin(), open_.end(),
                      [](bool open) { return open; });
}

std::vector<size_t> GroupBoard::Open() {
  const MutexLock lock(mutex_);
  std::vector<size_t> members;
  for (size_t i = 0; i < open_.size(); ++i) {
    if (open_[i]) members.push_back(i);
  }
  return members;
}

GroupMembers GroupBoard::members() {
  const MutexLock lock(mutex_);
  return members_;
}

void GroupBoard::Publish() {
  operation_.Step(CountMembers(text_, members_));
  const auto told =
      std::find_if(clocks_.begin(), clocks_.end(),
                   [](const auto& clock) { return !clock.second.empty(); });
  operation_.TellClock(told == clocks_.end() ? "" : told->second);
  Objects sum;
  for (const Objects& objects : objects_) {
    sum.done += objects.done;
    sum.total += objects.total;
  }
  if (sum.total > 0) operation_.Progress(sum.done, sum.total);
  operation_.SetPending(
      absl::UnavailableError(DescribeFailure(text_, members_)));
}

}  // namespace addons
