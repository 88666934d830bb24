#ifndef ADDONS_CLI_CONFORMANCE_H_
#define ADDONS_CLI_CONFORMANCE_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// Which server is tried, and what may be changed for it.
struct ConformanceCommand {
  std::string endpoint;
  SecretsSource secrets;
  std::string volume;                      // not replicated
  std::vector<std::string> group_volumes;  // in no group
  std::string range;                       // to be fenced
  // Each "key=value".
  std::vector<std::string> replication_parameters;
  std::vector<std::string> group_parameters;
  std::vector<std::string> fence_parameters;
  std::vector<std::string> only;  // ids of cases, or how they begin
  std::vector<std::string> skip;  // likewise
  bool list = false;              // only tell what there is
  std::string junit_file;
  std::chrono::milliseconds timeout{};  // of a call
};

/// Tries a CSI-Addons server, of whoever, against the specification: codes,
/// limits, repetition, many callers, callers who leave. Changes only what is
/// given for it. As text a line for each case is printed as it ends. Returns
/// the exit code: 0 when no case failed, kWouldNotWork when one did, kCliUsage,
/// or the number of the gRPC code when the server does not answer. Blocks.
int RunConformance(const ConformanceCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_CONFORMANCE_H_
