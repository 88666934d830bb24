#ifndef ADDONS_TESTS_TESTING_GATE_H_
#define ADDONS_TESTS_TESTING_GATE_H_

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace addons::testing {

/// Holds callers until it is opened; it stays open. Thread-safe.
class Gate {
 public:
  /// Blocks while the gate is shut.
  void Pass() {
    const MutexLock lock(mutex_);
    ++arrivals_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
  }
  void Open() {
    const MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  /// Blocks until `count` callers have come to the gate.
  void AwaitArrivals(int count) {
    const MutexLock lock(mutex_);
    while (arrivals_ < count) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int arrivals_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_GATE_H_
