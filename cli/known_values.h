#ifndef ADDONS_CLI_KNOWN_VALUES_H_
#define ADDONS_CLI_KNOWN_VALUES_H_

#include <string>
#include <vector>

#include "cli/streams.h"
#include "rbdaddons/admin.pb.h"

namespace addons {

/// The hidden verb that the scripts of completion.h call.
inline constexpr char kKnownVerb[] = "known";

/// What is offered for an option or an argument, by how `known` calls it.
inline constexpr char kKnownClusters[] = "clusters";
inline constexpr char kKnownParameters[] = "parameters";  // "KEY="; asks nobody
inline constexpr char kKnownPools[] = "pools";
inline constexpr char kKnownVolumes[] = "volumes";  // PersistentVolumes' names
std::vector<std::string> KnownKinds();

/// What `seen` has of this kind, in order, without what a shell could take for
/// more than a word: bash expands what completions offer.
std::vector<std::string> KnownIn(
    const ::rbdaddons::admin::v1::ListStatusResponse& seen,
    const std::string& kind);

struct KnownCommand {
  std::string kind;
  std::string endpoint;  // of the administrators
};

/// Prints what the daemon watches of this kind, a line each. Waits 2 s for it
/// at most. Returns the exit code.
int RunKnown(const KnownCommand& command, Streams& streams);

}  // namespace addons

#endif  // ADDONS_CLI_KNOWN_VALUES_H_
