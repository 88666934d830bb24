#include "server/daemon.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/periodic.h"
#include "base/start_thread.h"
#include "server/allocator.h"
#include "server/descriptor_limit.h"
#include "server/signals.h"
#include "server/systemd.h"

namespace addons {
namespace {

constexpr std::chrono::milliseconds kShortestTearDown = std::chrono::seconds(1);
constexpr std::chrono::seconds kReturnMemory{30};

void Notify(const std::string& socket, const std::string& state) {
  const absl::Status sent = NotifySystemd(socket, state);
  if (!sent.ok())
    Log().warn("failed to notify systemd cause={}", Quoted(sent.message()));
}

// What somebody may have meant differently. Before anything is served.
void LogOddities(const Config& config) {
  if (!config.ignored_flags.empty()) {
    Log().info("flags without meaning for this daemon ignored={}",
               absl::StrJoin(config.ignored_flags, ","));
  }
  if (!config.unknown_variables.empty()) {
    Log().warn("environment variables that do not exist unknown={}",
               Quoted(absl::StrJoin(config.unknown_variables, ",")));
  }
  if (!config.modes.controller && !config.modes.node) {
    Log().warn(
        "neither --controllerserver nor --nodeserver is on: only identity is "
        "served");
  }
}

void LogDescriptors() {
  const absl::StatusOr<uint64_t> descriptors = RaiseDescriptorLimit();
  if (descriptors.ok()) {
    Log().info("descriptors limit={}", *descriptors);
  } else {
    Log().warn("{}", std::string(descriptors.status().message()));
  }
}

[[noreturn]] void LeaveByForce() {
  Log().flush();
  std::_Exit(kExitForced);
}

// Destroys the daemon's objects, which waits for calls that were given up (a
// manager that hangs, a name server that says nothing) and for connections to
// close: for as long as that takes, so not here. False: it goes on.
bool TearDown(std::unique_ptr<App> app, std::chrono::milliseconds at_most) {
  const auto ended = std::make_shared<std::promise<void>>();
  std::future<void> end = ended->get_future();
  App* const object = app.release();
  auto thread = StartThread("tear-down", [object, ended] {
    delete object;
    ended->set_value();
  });
  if (!thread) return false;  // none left: nothing is waited for
  if (end.wait_for(at_most) == std::future_status::ready) return true;
  // It uses what nobody will destroy any more.
  static_cast<void>(
      std::make_unique<std::optional<std::jthread>>(std::move(thread))
          .release());
  return false;
}

/// What is made before anything is served may find no thread and no memory.
absl::StatusOr<std::unique_ptr<App>> MakeApp(
    const Config& config, const std::function<AppParts()>& make_parts) {
  try {
    return App::Create(config, make_parts());
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the operating system refuses something, often a thread: ",
        error.code().message(), "; raise the limits of processes and memory"));
  } catch (const std::exception& exception) {
    return absl::InternalError(
        absl::StrCat("unexpected exception ", typeid(exception).name()));
  }
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
  LogOddities(config);
  LogDescriptors();
  absl::StatusOr<std::unique_ptr<App>> app = MakeApp(config, make_parts);
  if (!app.ok()) {
    Log().error("failed to start cause={}", Quoted(app.status().message()));
    return kExitFailed;
  }
  const std::string notify_socket =
      ProcessEnvironment("NOTIFY_SOCKET").value_or("");
  Log().info("serving {}", Describe(config));
  Notify(notify_socket, "READY=1");
  std::unique_ptr<SystemdWatchdog> watchdog;
  if (const auto interval =
          WatchdogInterval(ProcessEnvironment("WATCHDOG_USEC").value_or(""),
                           ProcessEnvironment("WATCHDOG_PID").value_or(""));
      interval.has_value() && !notify_socket.empty()) {
    try {
      watchdog = std::make_unique<SystemdWatchdog>(
          notify_socket, *interval, [raw = app->get()] { raw->ProveAlive(); });
    } catch (const std::exception&) {  // systemd restarts a service like that
      Log().warn("no thread is left to tell systemd that the daemon is alive");
    }
  }

  // What a storm of calls needed is not kept.
  auto memory =
      std::make_unique<Periodic>("memory", kReturnMemory, &ReturnFreeMemory);

  const int signal =
      (*signals)->Wait([&app] { (*app)->ReloadConfiguration(); });
  const SteadyTime leave_by =
      RealClock().Now() + std::max(config.shutdown_grace, kShortestTearDown);
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
  memory.reset();
  watchdog.reset();  // it looks at what is destroyed now
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      leave_by - RealClock().Now());
  if (!TearDown(*std::move(app), std::max(left, kShortestTearDown))) {
    Log().warn("left before calls to Ceph that were given up had ended");
    LeaveByForce();
  }
  Log().info("stopped");
  Log().flush();
  return kExitOk;
}

}  // namespace addons
