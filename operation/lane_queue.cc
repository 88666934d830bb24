#include "operation/lane_queue.h"

#include <algorithm>
#include <utility>

namespace addons {

LaneQueue::LaneQueue(const LaneLimits& limits)
    : workers_(std::max<size_t>(limits.workers, 1)),
      workers_per_cluster_(std::max<size_t>(limits.workers_per_cluster, 1)),
      queue_bound_(limits.queued) {}

bool LaneQueue::MayRun(const std::string& cluster) const {
  if (reserved_ >= workers_) return false;
  const auto it = reserved_of_.find(cluster);
  return it == reserved_of_.end() || it->second < workers_per_cluster_;
}

void LaneQueue::Reserve(Entry entry) {
  ++reserved_;
  ++reserved_of_[entry.cluster];
  ready_.push_back(std::move(entry));
}

LaneQueue::Place LaneQueue::Push(uint64_t id, const std::string& cluster) {
  // No queued entry is overtaken: those that may run have been made ready.
  if (MayRun(cluster)) {
    Reserve({id, cluster});
    return Place::kReady;
  }
  if (queued_.size() >= queue_bound_) return Place::kFull;
  queued_.push_back({id, cluster});
  return Place::kQueued;
}

std::optional<uint64_t> LaneQueue::Pop() {
  if (ready_.empty()) return std::nullopt;
  const uint64_t id = ready_.front().id;
  ready_.pop_front();
  return id;
}

bool LaneQueue::Remove(uint64_t id) {
  const auto has_id = [id](const Entry& entry) { return entry.id == id; };
  const auto queued = std::find_if(queued_.begin(), queued_.end(), has_id);
  if (queued != queued_.end()) {
    queued_.erase(queued);
    return true;
  }
  const auto ready = std::find_if(ready_.begin(), ready_.end(), has_id);
  if (ready == ready_.end()) return false;
  const std::string cluster = std::move(ready->cluster);
  ready_.erase(ready);
  Finish(cluster);
  return true;
}

void LaneQueue::Finish(const std::string& cluster) {
  --reserved_;
  const auto it = reserved_of_.find(cluster);
  if (it != reserved_of_.end() && --it->second == 0) reserved_of_.erase(it);
  FillUp();
}

void LaneQueue::FillUp() {
  const auto next = std::find_if(
      queued_.begin(), queued_.end(),
      [this](const Entry& entry) { return MayRun(entry.cluster); });
  if (next == queued_.end()) return;
  Entry entry = std::move(*next);
  queued_.erase(next);
  Reserve(std::move(entry));
}

}  // namespace addons
