#ifndef ADDONS_BASE_BOUNDED_THREADS_H_
#define ADDONS_BASE_BOUNDED_THREADS_H_

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/start_thread.h"

namespace addons {

/// Runs jobs that may hang, such as lookups, on threads of its own. Each lane
/// (a cluster) has a bounded number of threads and a queue in front of them, so
/// that a dead cluster uses up its own threads and nobody else's. Threads end
/// when their lane has nothing to do. Thread-safe.
class BoundedThreads {
 public:
  static constexpr int kThreadsPerLane = 16;

  /// `name` is that of the threads (StartThread()).
  explicit BoundedThreads(std::string name, ThreadStarter start = StartThread)
      : name_(std::move(name)), start_(std::move(start)) {}
  /// Drops what is queued and waits for what runs.
  ~BoundedThreads();
  BoundedThreads(const BoundedThreads&) = delete;
  BoundedThreads& operator=(const BoundedThreads&) = delete;

  /// Runs `job` as soon as its lane has a thread for it. An exception ends that
  /// job only: who waits for it has to catch it there. Does not block. False:
  /// it will never run, because no thread can be made.
  bool Run(const std::string& lane, std::function<void()> job);

 private:
  struct Lane {
    std::deque<std::function<void()>> queue;
    int threads = 0;
  };
  struct Worker {
    std::jthread thread;
    bool done =
        false;  // guarded by mutex_; nothing follows but the thread's end
  };

  void Work(const std::string& lane, Worker& worker);
  bool StartWorker(const std::string& lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const ThreadStarter start_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Lane> lanes_ ABSL_GUARDED_BY(mutex_);
  std::list<Worker> workers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_BASE_BOUNDED_THREADS_H_
