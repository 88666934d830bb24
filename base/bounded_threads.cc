#include "base/bounded_threads.h"

#include <iterator>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace addons {

BoundedThreads::~BoundedThreads() {
  std::list<Worker> workers;
  std::map<std::string, Lane> dropped;  // jobs die outside of the lock
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (auto& [name, lane] : lanes_) dropped[name].queue.swap(lane.queue);
    workers.swap(workers_);
  }
  // ~jthread joins.
}

bool BoundedThreads::Run(const std::string& lane_name,
                         std::function<void()> job) {
  std::list<Worker> finished;  // joined outside of the lock
  const MutexLock lock(mutex_);
  for (auto it = workers_.begin(); it != workers_.end();) {
    const auto next = std::next(it);
    if (it->done) finished.splice(finished.end(), workers_, it);
    it = next;
  }
  if (stopping_) return false;
  Lane& lane = lanes_[lane_name];
  lane.queue.push_back(std::move(job));
  if (lane.threads >= kThreadsPerLane || StartWorker(lane_name)) return true;
  if (lane.threads > 0) return true;  // another one will take it
  lanes_.erase(lane_name);
  return false;
}

bool BoundedThreads::StartWorker(const std::string& lane) {
  Worker& worker = workers_.emplace_back();
  std::optional<std::jthread> thread;
  try {
    thread = start_(name_, [this, lane, &worker] { Work(lane, worker); });
  } catch (const std::bad_alloc&) {  // not even memory to ask for one
  }
  if (!thread) {
    workers_.pop_back();
    return false;
  }
  worker.thread = *std::move(thread);
  ++lanes_[lane].threads;
  return true;
}

void BoundedThreads::Work(const std::string& lane_name, Worker& worker) {
  for (;;) {
    std::function<void()> job;
    {
      const MutexLock lock(mutex_);
      Lane& lane = lanes_[lane_name];
      if (stopping_ || lane.queue.empty()) {
        if (--lane.threads == 0) lanes_.erase(lane_name);
        worker.done = true;
        return;
      }
      job = std::move(lane.queue.front());
      lane.queue.pop_front();
    }
    try {
      job();
    } catch (...) {
      // No memory, say: it must not take the process with it.
    }
  }
}

}  // namespace addons
