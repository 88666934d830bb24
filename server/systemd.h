#ifndef ADDONS_SERVER_SYSTEMD_H_
#define ADDONS_SERVER_SYSTEMD_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"

namespace addons {

/// Tells systemd about the service's state ("READY=1", "STOPPING=1"): one
/// datagram to `socket`, the value of NOTIFY_SOCKET. Does nothing when that is
/// empty. An error is no reason to stop.
absl::Status NotifySystemd(const std::string& socket, const std::string& state);

/// How often systemd wants to hear from this process, by the values of
/// WATCHDOG_USEC and WATCHDOG_PID (empty: not set); nullopt: not at all.
std::optional<std::chrono::microseconds> WatchdogInterval(
    const std::string& usec, const std::string& pid);

/// Sends WATCHDOG=1 to `socket` at once and then twice in each `interval`, as
/// long as it exists and `alive` returns. When `alive` hangs, systemd hears
/// nothing more and restarts the service.
class SystemdWatchdog {
 public:
  SystemdWatchdog(std::string socket, std::chrono::microseconds interval,
                  std::function<void()> alive);
  /// Waits for a call of `alive` under way.
  ~SystemdWatchdog();
  SystemdWatchdog(const SystemdWatchdog&) = delete;
  SystemdWatchdog& operator=(const SystemdWatchdog&) = delete;

 private:
  void Run();

  const std::string socket_;
  const std::chrono::microseconds pause_;
  const std::function<void()> alive_;
  Mutex mutex_;
  CondVar woken_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::jthread> thread_;  // last: it uses what is above
};

}  // namespace addons

#endif  // ADDONS_SERVER_SYSTEMD_H_
