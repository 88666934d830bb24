#include "operation/table/lane_queue.h"

#include <algorithm>
#include <new>
#include <utility>

namespace addons {

LaneQueue::LaneQueue(const LaneLimits& limits)
    : workers_(std::max<size_t>(limits.workers, 1)),
      workers_per_cluster_(std::max<size_t>(limits.workers_per_cluster, 1)),
      looking_per_cluster_(limits.looking_per_cluster > 0
                               ? limits.looking_per_cluster
                               : workers_per_cluster_),
      queue_bound_(limits.queued) {}

bool LaneQueue::MayRun(const WorkerShare& share) const {
  const auto it = use_of_.find(share);
  if (it == use_of_.end() || it->second.reserved == 0) {
    return reserved_ < workers_ || use_of_.size() < kMostShares;
  }
  return reserved_ < workers_ && it->second.reserved < workers_per_cluster_ &&
         it->second.looking < looking_per_cluster_;
}

void LaneQueue::Reserve(Entry entry) {
  // What may throw comes first.
  Use& use = use_of_[entry.share];
  ready_.push_back(std::move(entry));
  ++use.reserved;
  ++use.looking;
  ++reserved_;
}

LaneQueue::Place LaneQueue::Push(uint64_t id, const WorkerShare& share) {
  // No queued entry is overtaken: those that may run have been made ready.
  if (MayRun(share)) {
    Reserve({id, share});
    return Place::kReady;
  }
  if (queued_.size() >= queue_bound_) return Place::kFull;
  queued_.push_back({id, share});
  return Place::kQueued;
}

void LaneQueue::PushAgain(uint64_t id, const WorkerShare& share) {
  if (MayRun(share)) {
    Reserve({id, share});
  } else {
    queued_.push_back({id, share});
  }
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
  const WorkerShare share = std::move(ready->share);
  ready_.erase(ready);
  Finish(share);
  return true;
}

void LaneQueue::BeginsToChange(const WorkerShare& share) {
  --use_of_.at(share).looking;
  FillUp();
}

void LaneQueue::Finish(const WorkerShare& share, Stage stage) {
  --reserved_;
  const auto it = use_of_.find(share);
  if (stage == Stage::kLooks) --it->second.looking;
  if (--it->second.reserved == 0) use_of_.erase(it);
  FillUp();
}

void LaneQueue::FillUp() {
  const auto next =
      std::find_if(queued_.begin(), queued_.end(),
                   [this](const Entry& entry) { return MayRun(entry.share); });
  if (next == queued_.end()) return;
  try {
    Reserve(*next);
    queued_.erase(next);
  } catch (const std::bad_alloc&) {
    // It stays where it is, for the next one that ends.
  }
}

}  // namespace addons
