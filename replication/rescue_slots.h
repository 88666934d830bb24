#ifndef ADDONS_REPLICATION_RESCUE_SLOTS_H_
#define ADDONS_REPLICATION_RESCUE_SLOTS_H_

#include <atomic>
#include <memory>

namespace addons {

/// How many rescues copy at the same time: each holds some 64 MiB of memory,
/// and a disaster may hit all volumes in the middle of a copy. Copies share the
/// slots. Thread-safe.
class RescueSlots {
 public:
  /// Free again when the last copy of it dies.
  using Slot = std::shared_ptr<void>;

  explicit RescueSlots(int slots)
      : free_(std::make_shared<std::atomic<int>>(slots)) {}

  /// nullptr: none is free now.
  Slot TryTake() {
    int free = *free_;
    while (free > 0 && !free_->compare_exchange_weak(free, free - 1)) {
    }
    if (free <= 0) return nullptr;
    return Slot(free_.get(), [shared = free_](void*) { ++*shared; });
  }

 private:
  std::shared_ptr<std::atomic<int>> free_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_RESCUE_SLOTS_H_
