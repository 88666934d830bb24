// The daemon rbd-addonsd.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/log.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "ceph/librados/key_support.h"
#include "ceph/librados/snapshot_together.h"
#include "server/allocator.h"
#include "server/config.h"
#include "server/core_dumps.h"
#include "server/daemon.h"
#include "server/grpc_log.h"
#include "server/signals.h"

namespace addons {
namespace {

AppParts MakeParts(const Config& config) {
  ConnectionCacheOptions options;
  // To Ceph 0 means for ever: a fraction of a second counts as a whole one.
  options.timeouts = {
      std::chrono::ceil<std::chrono::seconds>(config.connect_timeout),
      std::chrono::ceil<std::chrono::seconds>(config.monitor_timeout),
      std::chrono::ceil<std::chrono::seconds>(config.read_timeout)};
  AppParts parts;
  const auto gate = std::make_shared<CallGate>(RealClock());
  parts.clusters =
      std::make_unique<ConnectionCache>(options, RealClock(), gate);
  parts.ceph_calls = [gate] { return gate->Snapshot(); };
  parts.manifest = {{"grpc", grpc::Version()}, {"librados", LibradosVersion()}};
  return parts;
}

int Main(const std::vector<std::string>& arguments) {
  const CommandLine command_line =
      ParseCommandLine(arguments, ProcessEnvironment, ProcessVariables());
  if (!command_line.config.has_value()) {
    std::fputs(command_line.output.c_str(), stdout);
    std::fputs(command_line.errors.c_str(), stderr);
    return command_line.exit_code;
  }
  const Config& config = *command_line.config;
  if (const absl::Status log =
          InitLog(config.log_level, config.log_format, STDERR_FILENO);
      !log.ok()) {
    std::fprintf(stderr, "rbd-addonsd: %s\n",
                 std::string(log.message()).c_str());
    return kExitFailed;
  }
  FlushLogOnCrash();
  TakeGrpcLog();
  if (!config.core_dumps) {
    if (const absl::Status forbidden = ForbidCoreDumps(); !forbidden.ok()) {
      Log().warn("a crash may write keys into a core dump: {}",
                 forbidden.ToString());
    }
  }
  return RunDaemon(config, [&config] { return MakeParts(config); });
}

/// Says on its standard output how far it is.
int SnapshotChild() {
  const absl::Status forbidden = ForbidCoreDumps();
  if (!forbidden.ok()) {
    Log().warn("a crash may write keys into a core dump: {}",
               forbidden.ToString());
  }
  return RunSnapshotChild(STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace
}  // namespace addons

int main(int argc, char** argv) {
  addons::ShareHeaps();
  if (argc == 2 &&
      std::string_view(argv[1]) == addons::kSnapshotChildArgument) {
    return addons::SnapshotChild();
  }
  addons::HoldHangups();
  return addons::Main(std::vector<std::string>(argv, argv + argc));
}
