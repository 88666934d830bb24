#ifndef ADDONS_BASE_SLOTS_H_
#define ADDONS_BASE_SLOTS_H_

#include <atomic>
#include <memory>

namespace addons {

/// A bounded number of slots, for work of which only so much may run at a time.
/// Nobody waits for one: who gets none tries again later. Copies share the
/// slots. Thread-safe.
class Slots {
 public:
  /// Free again when the last copy of it dies; may outlive the slots.
  using Slot = std::shared_ptr<void>;

  explicit Slots(int slots)
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

#endif  // ADDONS_BASE_SLOTS_H_
