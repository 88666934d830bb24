#ifndef ADDONS_SERVER_DAEMON_H_
#define ADDONS_SERVER_DAEMON_H_

#include "server/app.h"
#include "server/config.h"

namespace addons {

/// Serves until SIGTERM or SIGINT and returns the process's exit code; SIGHUP
/// reads the configuration again. Leaves the process itself, with kExitForced,
/// when work, or a call to Ceph that nobody waits for any more, does not end
/// within the grace time (a thread inside Ceph cannot be ended), or at the
/// second signal.
/// Call it in main() before any thread was started: `make_parts` is called when
/// signals are blocked.
int RunDaemon(const Config& config,
              const std::function<AppParts()>& make_parts);

}  // namespace addons

#endif  // ADDONS_SERVER_DAEMON_H_
