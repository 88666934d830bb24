#include "base/periodic.h"

#include <utility>

namespace addons {

Periodic::Periodic(std::chrono::milliseconds interval,
                   std::function<void()> task)
    : interval_(interval),
      task_(std::move(task)),
      thread_([this] { Loop(); }) {}

Periodic::~Periodic() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Periodic::Loop() {
  while (true) {
    {
      const auto until = std::chrono::steady_clock::now() + interval_;
      const MutexLock lock(mutex_);
      while (!stop_ && changed_.WaitUntil(mutex_, until)) {
      }
      if (stop_) return;
    }
    task_();
  }
}

}  // namespace addons
