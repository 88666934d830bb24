#ifndef ADDONS_CEPH_BLOCKLIST_COMMANDS_H_
#define ADDONS_CEPH_BLOCKLIST_COMMANDS_H_

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/cidr.h"
#include "ceph/blocklist.h"
#include "ceph/cluster.h"

namespace addons {

/// What an entry of the blocklist is called in the monitor's commands.
struct BlocklistKey {
  bool range = false;
  std::string argument;  // "10.0.0.0/24", "10.0.0.1:0/0"

  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler makes of it
  friend auto operator<=>(const BlocklistKey&, const BlocklistKey&) = default;
};

BlocklistKey RangeKey(const Cidr& range);
/// The one-address form of the same.
BlocklistKey AddressKey(const IpAddress& address);
BlocklistKey KeyOf(const BlocklistEntry& entry);
/// One client at `address`, as Ceph prints it: "10.0.0.1:0/123".
BlocklistKey ClientKey(absl::string_view address);

/// The commands as JSON. The monitor wants a decimal point in the number.
std::string AddCommand(const BlocklistKey& key, std::chrono::seconds expire);
std::string RemoveCommand(const BlocklistKey& key);

/// What is blocked now. Errors of Cluster::MonCommand() and Blocklist::Parse();
/// never FAILED_PRECONDITION. CephErrno() EINVAL: this Ceph has no such
/// command.
absl::StatusOr<Blocklist> ReadBlocklist(Cluster& cluster);

/// Adds (removes) all of `keys`, which differ, at the same time, so that they
/// share the monitors' next round; returns when all are committed or have
/// failed, one status each. An entry that exists stays as it is when it is
/// added; to remove one that does not exist is OK.
std::vector<absl::Status> AddEntries(Cluster& cluster,
                                     const std::vector<BlocklistKey>& keys,
                                     std::chrono::seconds expire);
std::vector<absl::Status> RemoveEntries(Cluster& cluster,
                                        const std::vector<BlocklistKey>& keys);
/// The first that is not OK.
absl::Status FirstError(const std::vector<absl::Status>& statuses);

}  // namespace addons

#endif  // ADDONS_CEPH_BLOCKLIST_COMMANDS_H_
