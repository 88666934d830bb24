#ifndef ADDONS_BASE_PERIODIC_H_
#define ADDONS_BASE_PERIODIC_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace addons {

/// Calls a function again and again on a thread of its own, the first time
/// after one interval of real time. An exception of it ends that call only. The
/// destructor waits for a call that runs. Without a thread left in the system
/// it never calls, and the log says so.
class Periodic {
 public:
  /// `name` is that of the thread (StartThread()).
  Periodic(const std::string& name, std::chrono::milliseconds interval,
           std::function<void()> task);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  void Loop();

  const std::chrono::milliseconds interval_;
  const std::function<void()> task_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::jthread> thread_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_BASE_PERIODIC_H_
