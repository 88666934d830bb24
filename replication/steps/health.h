#ifndef ADDONS_REPLICATION_STEPS_HEALTH_H_
#define ADDONS_REPLICATION_STEPS_HEALTH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "replication/look/mirror_view.h"
#include "replication/look/report.h"
#include "replication/look/timeline.h"
#include "replication/parameters.h"
#include "replication/steps/info.h"

namespace addons {

// How what the sites report of an image is judged: of one that a call asks for
// (info.h), and of all that the watch sees (pool_look.h). Nothing here asks
// Ceph or blocks.

/// Collects findings; the worst health wins. Not thread-safe.
class HealthReport {
 public:
  void Add(ReplicationHealth health, std::string text);
  /// Of several sites those of the one that is furthest behind stay.
  void Numbers(const SyncNumbers& numbers);
  bool has_numbers() const { return info_.last_sync_time.has_value(); }
  /// Unix seconds, on the primary.
  std::optional<int64_t> last_sync() const { return info_.last_sync_time; }
  ReplicationHealth health() const { return health_; }
  std::string text() const;
  void UpkeepIsDue(const VolumeHandle& volume_id) {
    info_.upkeep = {volume_id};
  }
  ReplicationInfo Take();

 private:
  ReplicationHealth health_ = ReplicationHealth::kHealthy;
  std::vector<std::string> texts_;
  ReplicationInfo info_;
};

/// Reads the numbers of `site`, or takes the last good ones and says how old
/// they are. false: its report cannot be read.
bool AddNumbers(Timeline& timeline, const MirrorView& view,
                const SiteView& site, const std::string& name,
                HealthReport* report);

/// What a site with CopiesAll() says, after its name.
std::string DescribeCopyOfAll(const SiteView& site);

/// What a peer of a primary says; `name` as SiteName().
void AddPeer(const MirrorView& view, const SiteView& peer,
             const std::string& name, SteadyDuration settle,
             HealthReport* report);

/// What rbd-mirror of this site says. `sent_away` tells why it is down where
/// that is known (DescribeSentAway()).
void AddLocal(const MirrorView& view, const std::string& sent_away,
              HealthReport* report);

/// "every 5m from 03:00".
std::string EveryText(const SnapshotSchedule& schedule);
/// Of each of them, with commas between; empty: none.
std::string EveryText(const std::vector<SnapshotSchedule>& schedules);

/// "mirror snapshots are paused since 2026-11-20T03:00:00Z ...", and what ends
/// that; of a pause that begins or ends what is left to be done.
std::string DescribePause(const SchedulePause& pause);

/// The one with the shortest interval; there is at least one.
const SnapshotSchedule& Shortest(
    const std::vector<SnapshotSchedule>& schedules);

/// How old the last copy is at least, in seconds, by the clock of this cluster
/// and the time since it has told: rbd-mirrors that live rewrite their reports
/// every 30 s. nullopt: nobody has reported.
std::optional<int64_t> SyncAge(const MirrorView& view, int64_t last_sync);

/// The last copy is older than two intervals of `schedule`.
void AddSyncAge(const MirrorView& view, const SnapshotSchedule& schedule,
                HealthReport* report);

/// In snapshot mode: it may have no more snapshots, so nothing is copied any
/// more, and its role cannot change. `spec` is "pool/image".
void AddSnapshotLimit(const MirrorView& view, absl::string_view spec,
                      HealthReport* report);

/// Of a primary in snapshot mode: no schedule applies to it.
void AddNoSchedule(HealthReport* report);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_HEALTH_H_
