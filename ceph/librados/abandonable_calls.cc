#include "ceph/librados/abandonable_calls.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

namespace addons {

bool AbandonableCalls::HasRoom(const void* key) const {
  const auto count =
      std::count_if(running_.begin(), running_.end(),
                    [&](const Running& one) { return one.key == key; });
  return static_cast<size_t>(count) < kMaxPerKey;
}

void AbandonableCalls::TakeEnded(std::list<Running>& ended) {
  for (auto it = running_.begin(); it != running_.end();) {
    const auto next = std::next(it);
    if (it->done) ended.splice(ended.end(), running_, it);
    it = next;
  }
}

absl::Status AbandonableCalls::Run(const void* key, std::function<void()> call,
                                   SteadyTime until) {
  struct End {
    bool reached = false;
    std::exception_ptr thrown;
  };
  std::list<Running> ended;  // joined after the lock
  const auto end = std::make_shared<End>();
  MutexLock lock(mutex_);
  TakeEnded(ended);
  while (!HasRoom(key)) {
    if (!changed_.WaitUntil(mutex_, until)) {
      return absl::DeadlineExceededError("too many calls of this kind hang");
    }
    TakeEnded(ended);
  }
  Running& mine = running_.emplace_back();
  mine.key = key;
  try {
    auto thread =
        start_("abandonable", [this, raw = &mine, end, call = std::move(call)] {
          std::exception_ptr thrown;
          try {
            call();
          } catch (...) {
            thrown = std::current_exception();
          }
          MutexLock done_lock(mutex_);
          end->thrown = std::move(thrown);
          end->reached = true;
          raw->done = true;
          changed_.NotifyAll();
        });
    if (thread) mine.thread = *std::move(thread);
  } catch (const std::exception&) {  // no memory
  }
  if (!mine.thread.joinable()) {
    running_.pop_back();
    return absl::UnavailableError("the system has no thread left for the call");
  }
  while (!end->reached) {
    if (!changed_.WaitUntil(mutex_, until) && !end->reached) {
      return absl::DeadlineExceededError("the call goes on");
    }
  }
  if (end->thrown != nullptr) std::rethrow_exception(end->thrown);
  return absl::OkStatus();
}

}  // namespace addons
