#ifndef ADDONS_CLI_GATHER_H_
#define ADDONS_CLI_GATHER_H_

#include <chrono>
#include <string>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

/// How long one question may take at most, and of how many volumes in trouble
/// and events of a pool the archive tells.
inline constexpr std::chrono::seconds kGatherPart{30};
inline constexpr int kGatherVolumes = 20;
inline constexpr int kGatherEvents = 500;
/// The output that is no file.
inline constexpr char kGatherToOutput[] = "-";

/// What somebody who helps from afar is sent.
struct GatherCommand {
  std::string endpoint;  // of administrators
  std::string output;    // a file, or kGatherToOutput; empty: a name with time
  bool replace = false;  // a file that is there
  std::string
      from_admin;  // the other site's socket of administrators, or empty
  SecretsSource from_secrets;
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};  // for all of it
};

/// Asks the daemon, and the other site's where it is named, for all that tells
/// how they are, and writes it into one tar, whose first file says what is in
/// it, what could not be had and why. What is asked, how long it takes and how
/// long it may take stands on the error stream. Keys are hidden. Blocks until
/// the timeout at most. Returns the exit code: 0; kWouldNotWork when something
/// could not be had; the number of UNAVAILABLE where there is no daemon, and
/// kCliUsage: nothing was written then; kCliInterrupted, likewise.
int RunGather(const GatherCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_GATHER_H_
