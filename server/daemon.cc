#include "server/daemon.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/log.h"
#include "server/signals.h"
#include "server/systemd.h"

namespace addons {
namespace {

void Notify(const std::string& socket, const std::string& state) {
  const absl::Status sent = NotifySystemd(socket, state);
  if (!sent.ok())
    Log().warn("failed to notify systemd cause={}", Quoted(sent.message()));
}

void LogStart(const Config& config) {
  Log().info("serving {}", Describe(config));
  if (!config.ignored_flags.empty()) {
    Log().info("flags without meaning for this daemon ignored={}",
               absl::StrJoin(config.ignored_flags, ","));
  }
  if (!config.modes.controller && !config.modes.node) {
    Log().warn(
        "neither --controllerserver nor --nodeserver is on: only identity is "
        "served");
  }
}

[[noreturn]] void LeaveByForce() {
  Log().flush();
  std::_Exit(kExitForced);
}

}  // namespace

int RunDaemon(const Config& config,
              const std::function<AppParts()>& make_parts) {
  absl::StatusOr<std::unique_ptr<TerminationSignals>> signals =
      TerminationSignals::Block();
  if (!signals.ok()) {
    Log().error("failed to start cause={}", Quoted(signals.status().message()));
    return kExitFailed;
  }
  absl::StatusOr<std::unique_ptr<App>> app = App::Create(config, make_parts());
  if (!app.ok()) {
    Log().error("failed to start cause={}", Quoted(app.status().message()));
    return kExitFailed;
  }
  const std::string notify_socket =
      ProcessEnvironment("NOTIFY_SOCKET").value_or("");
  LogStart(config);
  Notify(notify_socket, "READY=1");

  const int signal = (*signals)->Wait();
  Log().info("stopping signal={}", signal);
  Notify(notify_socket, "STOPPING=1");
  // The next daemon replaces the dead socket that this leaves behind:
  // Shutdown() may be using it.
  (*signals)->OnNext([](int second) {
    Log().warn("leaving at once signal={}", second);
    LeaveByForce();
  });
  if (!(*app)->Shutdown(config.shutdown_grace)) {
    Log().warn("left before all work had ended");
    LeaveByForce();
  }
  Log().info("stopped");
  return kExitOk;
}

}  // namespace addons
