#ifndef ADDONS_CLI_STATUS_H_
#define ADDONS_CLI_STATUS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What a person asks about all volumes.
struct StatusCommand {
  std::string endpoint;
  std::string cluster;  // empty: all; likewise the next two
  std::string pool;
  std::string text;
  bool trouble_only = false;
  SecretsSource secrets;  // not needed
  std::chrono::milliseconds timeout{};
};

/// Asks for all pages of one look, and prints them. Blocks until the timeout at
/// most. Returns the exit code: StatusExitCode(), kCliUsage, or the number of
/// the gRPC code when nothing was found out.
int RunStatus(const StatusCommand& command, Streams& streams);

/// Asks for all pages of one look. Blocks until the timeout at most. Errors as
/// AskWithSecrets(); ABORTED: looks end faster than their pages come.
absl::Status AskForStatus(const StatusCommand& command,
                          ::rbdaddons::admin::v1::ListStatusResponse* seen,
                          Streams& streams);

/// 0 when all that was asked for is in step or copying, else kWouldNotWork:
/// also for what could not be seen, and where there is nothing to see. With
/// `by_volume` the volumes that are listed count, else all of their pools.
int StatusExitCode(const ::rbdaddons::admin::v1::ListStatusResponse& seen,
                   bool by_volume);

}  // namespace addons

#endif  // ADDONS_CLI_STATUS_H_
