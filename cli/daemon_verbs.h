#ifndef ADDONS_CLI_DAEMON_VERBS_H_
#define ADDONS_CLI_DAEMON_VERBS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// What a person asks of the daemon itself. Each verb uses some of the fields.
struct DaemonCommand {
  std::string endpoint;
  std::string admin_endpoint;  // of the same daemon; may be empty
  std::chrono::milliseconds timeout{};
  SecretsSource secrets;
  std::string method;
  std::string request;  // JSON, or "-": from standard input
  uint64_t operation_id = 0;
  bool yes = false;  // do not ask before an operation is stopped
};

// All of them block, and return the exit code: 0, kCliUsage or the number of
// the gRPC code.

/// Calls any method with any request, and prints the answer as JSON.
int RunCall(const DaemonCommand& command, Streams& streams);
/// Lists what can be called; asks nobody.
int RunMethods(Streams& streams);
/// Whether the daemon is ready.
int RunProbe(const DaemonCommand& command, Streams& streams);
/// Who the daemon is, and what it can do.
int RunIdentity(const DaemonCommand& command, Streams& streams);
/// What runs and waits in the daemon.
int RunOperations(const DaemonCommand& command, Streams& streams);
/// Stops an operation, after a question that shows it.
int RunCancel(const DaemonCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_DAEMON_VERBS_H_
