#ifndef ADDONS_REPLICATION_LOOK_EVICTION_NOTE_H_
#define ADDONS_REPLICATION_LOOK_EVICTION_NOTE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

class Pool;

/// The object that holds the note, in the pool and namespace where a promotion
/// was forced and in the pool's default namespace: rbd-mirror has one client
/// for all of them. It stays; a note that is older than rbd-mirror's reports
/// says nothing.
inline constexpr char kEvictionObject[] = "rbd_addons.copying";

/// A pool as a volume sees it, and its default namespace. Nothing is owned.
struct PoolAndDefault {
  Pool& own;
  Pool* whole = nullptr;  // nullptr: `own` is that
};

/// The default namespace of the pool, for PoolAndDefault; nullptr when `own` is
/// that.
absl::StatusOr<std::unique_ptr<Pool>> OpenDefaultNamespace(Cluster& cluster,
                                                           const Pool& own,
                                                           Access access);

/// Writes into the pool that this site's rbd-mirror was blocklisted for a
/// forced promotion, and when it had last reported on an image of the pool (by
/// the cluster's clock, seconds since 1970): a daemon that starts later, and
/// other replicas, must not take its silence for an rbd-mirror that is down.
/// The note counts for an hour by the OSD's clock: rbd-mirror is back long
/// before, or something else keeps it away. Needs mutation pools. A user may be
/// limited to the namespace, so one of the two places is enough. Blocks for a
/// few changes in each.
absl::Status WriteEvictionNote(const PoolAndDefault& pool,
                               int64_t newest_report);

/// Whether an eviction was ever noted there. Blocks for one read in each place.
bool HasEvictionNote(const PoolAndDefault& pool);

/// Whether the silence of this site's rbd-mirror, which has reported last at
/// `newest_report`, is explained by an eviction that was noted within the last
/// hour: that report is from before it, or was under way then. 0, no report at
/// all, is none from before it. False also where no place can be read. Blocks
/// for one read in each place, and where that says so for one more.
bool SilentSinceEviction(const PoolAndDefault& pool, int64_t newest_report);

}  // namespace addons

#endif  // ADDONS_REPLICATION_LOOK_EVICTION_NOTE_H_
