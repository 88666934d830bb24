#ifndef ADDONS_CLI_RESCUE_H_
#define ADDONS_CLI_RESCUE_H_

#include <chrono>
#include <string>

#include "cli/secrets.h"
#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// What a person wants to know of the rescue of a volume, or decides.
struct RescueCommand {
  std::string endpoint;
  std::string id;
  bool keep = false;     // what was written since; or
  bool restore = false;  // the saved state; none: only shows it
  bool yes = false;      // do not ask before either
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Shows it, or asks and decides. Blocks. Returns the exit code: 0, kCliUsage
/// or the number of the gRPC code.
int RunRescue(const RescueCommand& command, Streams& streams);

/// What is known of it, in a few lines.
std::string RescueText(
    const ::rbdaddons::admin::v1::DecideRescueResponse& rescue);

}  // namespace addons

#endif  // ADDONS_CLI_RESCUE_H_
