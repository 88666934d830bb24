#include "base/periodic.h"

#include <utility>

#include "base/log.h"
#include "base/start_thread.h"

namespace addons {

Periodic::Periodic(const std::string& name, std::chrono::milliseconds interval,
                   std::function<void()> task)
    : interval_(interval),
      task_(std::move(task)),
      thread_(StartThread(name, [this] { Loop(); })) {
  if (!thread_) {
    Log().warn("the system has no thread left for a periodic task name={}",
               name);
  }
}

Periodic::~Periodic() {
  const MutexLock lock(mutex_);
  stop_ = true;
  changed_.NotifyAll();
  // ~jthread joins, after the lock.
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
    try {
      task_();
    } catch (...) {
      // No memory, for once: the next time is another one.
    }
  }
}

}  // namespace addons
