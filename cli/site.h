#ifndef ADDONS_CLI_SITE_H_
#define ADDONS_CLI_SITE_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/site_plan.h"
#include "cli/streams.h"

namespace addons {

/// What a person asks for all volumes and volume groups of some pools.
struct SiteCommand {
  SiteVerb verb = SiteVerb::kRelocate;
  std::string endpoint;
  std::string admin_endpoint;
  std::vector<std::string> pools;
  std::string cluster;            // of the pools; may be empty
  std::string from;               // endpoint of the other site's daemon, or ""
  std::string from_admin;         // with `from`: its administrators' socket
  std::string from_secrets_file;  // with `from`
  std::string from_cluster;       // of the pools there; may be empty
  size_t at_once = 16;
  bool dry_run = false;                 // show the plan, change nothing
  bool yes = false;                     // do not ask before what may lose data
  bool without_groups = false;          // take each volume by itself
  std::vector<std::string> parameters;  // "key=value", of promotions
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Moves a site: looks at the pools, says what it is going to do, asks before
/// what may lose data, and calls the daemon for each volume and group as often
/// as that asks for the call to be repeated, within `timeout`. What is as asked
/// already is left alone, so after an end of any kind it can be run again.
/// Blocks; SIGINT and SIGTERM end the waiting. Returns the exit code: 0 when
/// all is as asked, kWouldNotWork when something needs a decision, the number
/// of UNAVAILABLE when it only needs more time, kCliInterrupted, kCliUsage, or
/// the number of the gRPC code that kept it from looking.
int RunSite(const SiteCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_SITE_H_
