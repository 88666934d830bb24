#ifndef ADDONS_CLI_REPLICATION_VERBS_H_
#define ADDONS_CLI_REPLICATION_VERBS_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

enum class ReplicationVerb {
  kEnable,
  kDisable,
  kPromote,
  kDemote,
  kResync,
  kInfo,
  kDestination
};

/// What a person asks of the replication of a volume or group.
struct ReplicationCommand {
  ReplicationVerb verb = ReplicationVerb::kInfo;
  std::string endpoint;
  std::string admin_endpoint;  // shows how far it is; empty: nothing does
  std::string id;
  bool group = false;  // `id` is of a volume group
  bool force = false;
  std::string point;  // of a promotion: what the image is to hold; empty: none
  bool yes = false;   // do not ask before what may lose data
  std::vector<std::string> parameters;  // "key=value"
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Does it, as often as the daemon asks for the call to be repeated (and a
/// resync until the copy is in step), within `timeout`: each new reason to wait
/// is a line on the error stream, and so is how far it is. Before what may lose
/// data it asks, and takes nothing but "yes" for an answer. Blocks. Returns the
/// exit code: 0, kCliUsage, kCliInterrupted or the number of the gRPC code.
int RunReplicationCommand(const ReplicationCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_REPLICATION_VERBS_H_
