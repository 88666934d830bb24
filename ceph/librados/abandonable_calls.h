#ifndef ADDONS_CEPH_LIBRADOS_ABANDONABLE_CALLS_H_
#define ADDONS_CEPH_LIBRADOS_ABANDONABLE_CALLS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/start_thread.h"

namespace addons {

/// Gives a bound to calls that have none of their own: each runs on a thread of
/// its own, and a caller whose time is over goes away while the call goes on.
/// Few calls per key run at a time, abandoned ones included, so that something
/// that hangs for hours costs a few threads. Thread-safe.
///
/// The destructor waits for all calls.
class AbandonableCalls {
 public:
  static constexpr size_t kMaxPerKey = 4;

  explicit AbandonableCalls(ThreadStarter start = StartThread)
      : start_(std::move(start)) {}
  AbandonableCalls(const AbandonableCalls&) = delete;
  AbandonableCalls& operator=(const AbandonableCalls&) = delete;

  /// Runs `call` and returns OK when it has ended; an exception of it goes on
  /// here. DEADLINE_EXCEEDED: it has not ended by `until`, so it goes on, or it
  /// was not begun because the key has too many. UNAVAILABLE: it was not begun,
  /// the system has no thread for it. `call` must own what it touches, and must
  /// not be the last owner of this object.
  absl::Status Run(const void* key, std::function<void()> call,
                   SteadyTime until);

 private:
  struct Running {
    const void* key = nullptr;
    bool done = false;  // the last thing that `thread` does under the lock
    std::jthread thread;
  };
  /// Moves the finished ones that nobody waits for to `ended`.
  void TakeEnded(std::list<Running>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoom(const void* key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ThreadStarter start_;
  Mutex mutex_;
  CondVar changed_;
  // Last, so that its threads end before the rest goes.
  std::list<Running> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_ABANDONABLE_CALLS_H_
