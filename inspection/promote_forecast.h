#ifndef ADDONS_INSPECTION_PROMOTE_FORECAST_H_
#define ADDONS_INSPECTION_PROMOTE_FORECAST_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "inspection/forecast.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/look/promote_series.h"
#include "replication/look/rescue_record.h"
#include "replication/session.h"
#include "replication/verb_scope.h"

namespace addons {

struct PromoteSeen;

/// What a promotion would answer now, and what it would cost.
struct PromoteForecast {
  Forecast planned;
  Forecast forced;
  /// What a forced one would return to, for a person; empty: nothing is lost,
  /// or it would not be done.
  std::string returns_to;
  /// When the primary was in that state, by its own clock, where that is known.
  std::optional<int64_t> returns_to_time;
  /// What a forced one would lose, where that is known: 0, when the other site
  /// can have written nothing since.
  std::optional<uint64_t> lost_bytes;
  /// About how much of that is in a snapshot that is not whole here, where it
  /// is not 0; what was written since comes on top. See CopyForecast.
  std::optional<uint64_t> lost_bytes_about;
  /// About how much is still to be copied of what is known of on the primary;
  /// absent: not known.
  std::optional<uint64_t> bytes_to_come;
  /// About how long a planned one waits for copies, from when the other site is
  /// demoted; 0: it would work now; absent: not known, or none would come.
  std::optional<uint64_t> planned_seconds;
};

/// At the limit of its snapshots an image is not promoted: one read, of one
/// that would be. A read that fails makes the forecast unclear.
void ForecastRoom(const OpenedVolume& opened, const MirrorView& view,
                  PromoteForecast* forecast);

/// The same of one that somebody has locked by hand.
void ForecastLock(const std::vector<Locker>& lockers,
                  PromoteForecast* forecast);

/// Looks ahead for images of one pool. What calls that wait have seen together
/// counts here as for the next of them, and these looks do not count for them:
/// so asking neither hastens nor delays a failover. For several threads, once
/// it is listed.
class PromotePreview {
 public:
  /// `environment` is not owned.
  PromotePreview(ReplicationEnvironment& environment, std::string pool_key);

  /// Reads the statuses of the pool in all its mirrored namespaces, and the
  /// names of its peers, once for all images in the namespace of `own`. What
  /// could not be read makes forecasts unclear that rest on it. One thread.
  void List(Cluster& cluster, Pool& own);

  /// What Promote() in this scope decides from this look. `interval` is that of
  /// the caller's parameters.
  PromoteForecast Of(const MirrorView& view,
                     const std::optional<RescueRecord>& rescue,
                     const std::string& fsid,
                     const std::string& rados_namespace,
                     std::optional<std::chrono::minutes> interval,
                     VerbScope scope = VerbScope::kVolume);

  std::string SiteNameOf(const std::string& mirror_uuid) const {
    return SiteName(peers_, mirror_uuid);
  }

 private:
  void TellClock(const PromoteSeen& seen, Forecast* forecast);

  ReplicationEnvironment& environment_;
  const std::string pool_key_;
  PromoteSeries series_;
  std::vector<MirrorPeer> peers_;
  absl::Status listed_;
};

}  // namespace addons

#endif  // ADDONS_INSPECTION_PROMOTE_FORECAST_H_
