#ifndef ADDONS_REPLICATION_INFO_H_
#define ADDONS_REPLICATION_INFO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "replication/environment.h"

namespace addons {

enum class ReplicationHealth { kHealthy, kDegraded, kError };

/// What is not known is absent, never zero.
struct ReplicationInfo {
  ReplicationHealth health = ReplicationHealth::kHealthy;
  std::string message;  // what is the case and what to do next
  std::optional<int64_t> last_sync_time;     // unix seconds, on the primary
  std::optional<int64_t> last_sync_seconds;  // how long copying it took
  std::optional<int64_t> last_sync_bytes;
};

/// How the replication of a volume is doing, from the reports of all sites.
/// Takes no operation key, changes nothing, never blocks a failover; blocks
/// until `deadline` at most. With several peers the numbers are those of the
/// one that is furthest behind. FAILED_PRECONDITION: replication is off.
/// NOT_FOUND: no such volume, or nothing was ever copied.
absl::StatusOr<ReplicationInfo> GetReplicationInfo(
    ReplicationEnvironment& environment, const VolumeTarget& target,
    SteadyTime deadline);

}  // namespace addons

#endif  // ADDONS_REPLICATION_INFO_H_
