#ifndef ADDONS_CLI_STORAGE_VERBS_H_
#define ADDONS_CLI_STORAGE_VERBS_H_

#include <chrono>
#include <string>
#include <vector>

#include "cli/secrets.h"
#include "cli/streams.h"

namespace addons {

enum class StorageVerb {
  kFence,
  kUnfence,
  kFences,
  kFenceClient,
  kReclaim,
  kTrim,
  kRotateKey,
  kGroupCreate,
  kGroupModify,
  kGroupDelete,
  kGroupList,
  kGroupShow
};

/// What a person asks of fences, space, keys and volume groups. Each verb uses
/// some of the fields.
struct StorageCommand {
  StorageVerb verb = StorageVerb::kFences;
  std::string endpoint;
  std::string admin_endpoint;  // shows how far it is; empty: nothing does
  std::string id;       // of the volume or group; the name of a new group
  std::string cluster;  // its id in config.json
  std::string path;     // where a volume is staged on this node
  std::vector<std::string> cidrs;
  std::vector<std::string> volumes;     // ids of a group's members
  std::vector<std::string> parameters;  // "key=value"
  bool yes = false;  // do not ask before what cuts others off, or loses data
  SecretsSource secrets;
  std::chrono::milliseconds timeout{};
};

/// Does it, see CallUntilDone(), and prints what came of it; a fence, its end,
/// and the end of a group only after a question. Blocks. Returns the exit code:
/// 0, kCliUsage, kCliInterrupted or the number of the gRPC code.
int RunStorageCommand(const StorageCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_STORAGE_VERBS_H_
