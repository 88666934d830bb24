#include "server/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/unique_fd.h"

namespace addons {

absl::Status NotifySystemd(const std::string& socket,
                           const std::string& state) {
  if (socket.empty()) return absl::OkStatus();
  sockaddr_un address{};
  const bool well_formed = (socket.front() == '/' || socket.front() == '@') &&
                           socket.size() < sizeof(address.sun_path);
  if (!well_formed) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET '", socket, "' is not a socket's name"));
  }
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, socket.size());
  if (socket.front() == '@') address.sun_path[0] = '\0';  // abstract namespace
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  if (!fd.valid() ||
      sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return absl::UnavailableError(absl::StrCat("Failed to notify systemd at '",
                                               socket, "': errno ", errno));
  }
  return absl::OkStatus();
}

std::optional<std::chrono::microseconds> WatchdogInterval(
    const std::string& usec, const std::string& pid) {
  uint32_t process = 0;
  // Inherited by a child, it is not meant for it.
  if (!pid.empty() && (!absl::SimpleAtoi(pid, &process) ||
                       static_cast<pid_t>(process) != getpid())) {
    return std::nullopt;
  }
  int64_t interval = 0;
  if (!absl::SimpleAtoi(usec, &interval) || interval <= 0) return std::nullopt;
  return std::chrono::microseconds(interval);
}

SystemdWatchdog::SystemdWatchdog(std::string socket,
                                 std::chrono::microseconds interval,
                                 std::function<void()> alive)
    : socket_(std::move(socket)),
      pause_(interval / 2),
      alive_(std::move(alive)),
      thread_(StartThread("watchdog-notify", [this] { Run(); })) {
  if (!thread_) {
    Log().warn(
        "no thread left that tells systemd's watchdog that the daemon is "
        "alive; raise the limit of processes (TasksMax)");
  }
}

SystemdWatchdog::~SystemdWatchdog() {
  const MutexLock lock(mutex_);
  ended_ = true;
  woken_.NotifyAll();
}

void SystemdWatchdog::Run() {
  while (true) {
    alive_();
    // What is lost now is sent again after the pause.
    NotifySystemd(socket_, "WATCHDOG=1").IgnoreError();
    const auto until = std::chrono::steady_clock::now() + pause_;
    const MutexLock lock(mutex_);
    while (!ended_ && woken_.WaitUntil(mutex_, until)) {
    }
    if (ended_) return;
  }
}

}  // namespace addons
