#ifndef ADDONS_OPERATION_TABLE_LANE_QUEUE_H_
#define ADDONS_OPERATION_TABLE_LANE_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "operation/operation_limits.h"
#include "operation/worker_share.h"

namespace addons {

/// Who of one lane may run now, and who waits: the arithmetic of LaneLimits,
/// without threads. An entry is queued, then ready (it has a worker reserved),
/// then popped (a worker runs it), then finished. It looks, until it changes
/// something.
///
/// Not thread-safe.
class LaneQueue {
 public:
  enum class Place { kReady, kQueued, kFull };
  enum class Stage { kLooks, kChanges };
  /// So many shares at a time have a worker, whatever the lane's bound is.
  static constexpr size_t kMostShares = 64;

  /// Limits of 0 workers count as 1: a lane that runs nothing would only hang.
  explicit LaneQueue(const LaneLimits& limits);

  /// Adds `id`; kFull: it was not added. Only queued entries count for the
  /// bound.
  Place Push(uint64_t id, const WorkerShare& share);
  /// The same for one that has been finished and goes on: the bound does not
  /// count.
  void PushAgain(uint64_t id, const WorkerShare& share);
  /// The next ready entry for a worker; nullopt when there is none.
  std::optional<uint64_t> Pop();
  /// Takes out an entry that no worker has popped; false when there is none.
  bool Remove(uint64_t id);
  /// A popped entry does not only look any more.
  void BeginsToChange(const WorkerShare& share);
  /// A popped entry has ended: the oldest queued entry whose share is not used
  /// up becomes ready.
  void Finish(const WorkerShare& share, Stage stage = Stage::kLooks);

  /// Workers needed: ready and popped entries.
  size_t reserved() const { return reserved_; }
  size_t ready() const { return ready_.size(); }
  size_t queued() const { return queued_.size(); }

 private:
  struct Entry {
    uint64_t id = 0;
    WorkerShare share;
  };

  bool MayRun(const WorkerShare& share) const;
  void Reserve(Entry entry);
  void FillUp();

  const size_t workers_;
  const size_t workers_per_cluster_;
  const size_t looking_per_cluster_;
  const size_t queue_bound_;
  size_t reserved_ = 0;
  struct Use {
    size_t reserved = 0;
    size_t looking = 0;  // of these
  };
  std::map<WorkerShare, Use> use_of_;
  std::deque<Entry> ready_;
  std::deque<Entry> queued_;
};

}  // namespace addons

#endif  // ADDONS_OPERATION_TABLE_LANE_QUEUE_H_
