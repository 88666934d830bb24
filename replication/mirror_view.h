#ifndef ADDONS_REPLICATION_MIRROR_VIEW_H_
#define ADDONS_REPLICATION_MIRROR_VIEW_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "replication/peer_tracker.h"
#include "replication/site_report.h"
#include "volume/resolver.h"

namespace addons {

/// librbd keeps a resync request under such a metadata key until the image is
/// replaced.
inline constexpr char kResyncKeyPrefix[] = ".rbd_mirror.";

/// One site's entry with what can be said about its age.
struct SiteView {
  SiteStatus status;
  SiteRole role = SiteRole::kUnclear;
  /// At least so old. Never computed from this host's wall clock.
  SteadyDuration age{0};
};

/// Everything that one look from this site shows of a mirrored image.
struct MirrorView {
  std::string image_id;
  Timestamp created;
  ImageSize size;
  MirrorImageInfo info;
  std::vector<MirrorSnapshot> snapshots;  // ascending
  std::optional<SiteView> local;
  std::vector<SiteView> peers;
  /// Where nobody has reported on a secondary image, although the rbd-mirror of
  /// a peer is known to this pool: how long this process has seen it so.
  std::optional<SteadyDuration> silent_peer_age;
  bool resync_requested = false;
  bool marked_non_primary = false;  // refuses all writes, whatever its role
  std::string tracker_key;
  /// How long nothing was copied onto this site, seen by this process.
  SteadyDuration quiet_for{0};

  bool enabled() const {
    return info.state == MirrorImageState::kEnabled ||
           info.state == MirrorImageState::kCreating;
  }
  const MirrorSnapshot* Newest() const;
  /// The newest complete one: what a forced promote returns to.
  const MirrorSnapshot* LastComplete() const;

  /// When this site's image became primary, by its cluster's clock, or a later
  /// time when older snapshots have been dropped; nullopt: it is not primary.
  std::optional<int64_t> PrimarySince() const;
  /// Its report was written after this site's image became primary, so that it
  /// can be about that.
  bool ReportedSincePrimary(const SiteView& peer) const;

  /// The local rbd-mirror has an entry and its daemon is up.
  bool LocalDaemonUp() const;
  /// A peer that reported within `settle` (and what it says is current).
  const SiteView* FreshPeer(SiteRole role, SteadyDuration settle) const;
  bool AnyFreshPeer(SteadyDuration settle) const;
  /// No rbd-mirror of a peer has ever reported on this image or called at this
  /// pool: the local one's own report stands for life.
  bool OneWay() const { return peers.empty() && !silent_peer_age.has_value(); }
  bool SplitBrain() const;

  /// "the state of 2026-11-20T03:00:00Z", or "nothing: no complete snapshot".
  std::string RestorePoint() const;
  /// "12 of 64 objects copied", empty when nothing is being copied.
  std::string CopyProgress() const;
};

/// Opens the image read-only, reads what MirrorView holds, closes it. `pool` is
/// a read pool of the volume. NOT_FOUND: no such image.
absl::StatusOr<MirrorView> LookAt(const ResolvedVolume& volume, Pool& pool,
                                  PeerTracker& tracker);

/// "site 'site-a'" by mirror uuid, "the peer site" when its name is not known.
std::string SiteName(Pool& pool, const std::string& mirror_uuid);

/// RFC 3339 in UTC.
std::string FormatUnixSeconds(int64_t seconds);

/// A status of a read or mutation after the volume was found. NOT_FOUND would
/// mean something else to the caller by now and becomes UNAVAILABLE.
absl::Status AfterResolve(const absl::Status& status,
                          const ResolvedVolume& volume);

}  // namespace addons

#endif  // ADDONS_REPLICATION_MIRROR_VIEW_H_
