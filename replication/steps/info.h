#ifndef ADDONS_REPLICATION_STEPS_INFO_H_
#define ADDONS_REPLICATION_STEPS_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::vector<VolumeHandle> upkeep;  // volumes for which KeepUp() is due
};

/// How the replication of a volume is doing, from the reports of all sites.
/// Takes no operation key, changes nothing, never blocks a failover; blocks
/// until `deadline` at most. With several peers the numbers are those of the
/// one that is furthest behind. HEALTHY: what is written is copied, by a
/// schedule that applies, and the last copy is not older than two intervals.
///
// clang-format off
///   ReadOnce(): OpenVolume(), LookWithoutOpening()
///     ├─ absent ──> ImageMissing() ───────────────> ERROR
///     ├─ off, or disabling ───────────────────────> FAILED_PRECONDITION
///     └─ Summarize()   each adds a text and a health; the worst health wins
///          │             AwaitsRestore(), RescueIsLive()
///          │             DescribeCloneLoss()
///          │             AddLocal()
///          ├─ secondary: CopyProgress(), AddNumbers() ──> DEGRADED at best
///          └─ primary: SummarizePrimary()
///               │        AddPeer(), AddNumbers()   of each peer
///               │        AddSchedule()             in snapshot mode
///               ├─ ERROR, AwaitsFollowers(),
///               │    or there are numbers ────────> HEALTHY, DEGRADED or ERROR
///               ├─ UnreportedFor() a short time ──> UNAVAILABLE
///               ├─ FirstCopyAwaited() ────────────> NOT_FOUND
///               └─ else ──────────────────────────> DEGRADED; in journal mode as above
///
///   UpkeepIsDue()  of a primary: CloneMarkDue(), TermNoteDue(),
///                  FirstCopyNoteIsOver(), or AddSchedule() misses the wanted one
// clang-format on
///
/// FAILED_PRECONDITION: replication is off. NOT_FOUND: the journal has no such
/// volume, or the first copy after replication was enabled is not whole yet.
/// UNAVAILABLE: this site became primary a moment ago, and no peer has reported
/// since, or with nothing but what may be older; ask again soon.
absl::StatusOr<ReplicationInfo> GetReplicationInfo(
    ReplicationEnvironment& environment, const VolumeTarget& target,
    SteadyTime deadline);

/// Whether `status` is that UNAVAILABLE of GetReplicationInfo(), and not one of
/// a cluster that does not answer.
bool IsNotKnownYet(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_INFO_H_
