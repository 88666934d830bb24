#include "volume/lookup_threads.h"

#include <iterator>
#include <system_error>
#include <utility>

namespace addons {

LookupThreads::~LookupThreads() {
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

bool LookupThreads::Run(const std::string& lane_name,
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

bool LookupThreads::StartWorker(const std::string& lane) {
  Worker& worker = workers_.emplace_back();
  try {
    worker.thread = std::jthread([this, lane, &worker] { Work(lane, worker); });
  } catch (const std::system_error&) {
    workers_.pop_back();
    return false;
  }
  ++lanes_[lane].threads;
  return true;
}

void LookupThreads::Work(const std::string& lane_name, Worker& worker) {
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
    job();
  }
}

}  // namespace addons
