#include "ceph/librados/abandonable_calls.h"

#include <algorithm>
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

bool AbandonableCalls::Run(const void* key, std::function<void()> call,
                           SteadyTime until) {
  std::list<Running> ended;  // joined after the lock
  const auto finished = std::make_shared<bool>(false);
  MutexLock lock(mutex_);
  TakeEnded(ended);
  while (!HasRoom(key)) {
    if (!changed_.WaitUntil(mutex_, until)) return false;
    TakeEnded(ended);
  }
  Running& mine = running_.emplace_back();
  mine.key = key;
  mine.thread =
      std::jthread([this, raw = &mine, finished, call = std::move(call)] {
        call();
        MutexLock done_lock(mutex_);
        *finished = true;
        raw->done = true;
        changed_.NotifyAll();
      });
  while (!*finished) {
    if (!changed_.WaitUntil(mutex_, until) && !*finished) return false;
  }
  return true;
}

}  // namespace addons
