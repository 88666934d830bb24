#ifndef ADDONS_CLI_COPYING_H_
#define ADDONS_CLI_COPYING_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

enum class CopyingVerb { kSync, kPause, kResume };

/// A person wants what was written to volumes copied now, or not for a while.
struct CopyingCommand {
  CopyingVerb verb = CopyingVerb::kSync;
  std::string endpoint;
  std::vector<std::string> ids;
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};  // for each volume, and each wait
};

/// Does it with one volume after the other, as often as the daemon asks for a
/// call to be repeated; a sync first makes all snapshots, and then waits for
/// each. What fails of one volume is said, and keeps no other one. Blocks.
/// Returns the exit code: 0, kCliUsage, kCliInterrupted or the number of the
/// gRPC code that the first failure ended with.
int RunCopying(const CopyingCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_COPYING_H_
