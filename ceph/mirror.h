#ifndef ADDONS_CEPH_MIRROR_H_
#define ADDONS_CEPH_MIRROR_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace addons {

// Value types for what librbd tells about mirroring. Values that this build
// does not know become kUnknown; of MirrorStatusState, where librbd has an
// "unknown" of its own, kUnrecognized.

enum class MirrorMode { kJournal, kSnapshot, kUnknown };

/// How a pool (or RADOS namespace) is mirrored.
enum class PoolMirrorMode { kDisabled, kImage, kPool, kUnknown };

/// Of one image. kCreating: a non-primary image that rbd-mirror is making.
enum class MirrorImageState {
  kDisabled,
  kDisabling,
  kEnabled,
  kCreating,
  kUnknown
};

struct MirrorImageInfo {
  MirrorImageState state = MirrorImageState::kUnknown;
  MirrorMode mode =
      MirrorMode::kUnknown;  // meaningful when state is not kDisabled
  bool primary = false;
  std::string global_id;  // same on all sites
};

enum class MirrorSnapshotKind {
  kPrimary,
  kPrimaryDemoted,
  kNonPrimary,
  kNonPrimaryDemoted,
  kUnknown
};

struct MirrorSnapshot {
  uint64_t id = 0;
  MirrorSnapshotKind kind = MirrorSnapshotKind::kUnknown;
  bool complete = false;
  std::vector<std::string>
      unsynced_peer_uuids;          // primary kinds: not copied by these yet
  std::string primary_mirror_uuid;  // non-primary kinds: where it came from
  uint64_t primary_snapshot_id = 0;
  uint64_t last_copied_object = 0;
  std::chrono::system_clock::time_point created;  // on this cluster
  /// Non-primary kinds: peers are noted that may copy it from here, as
  /// rbd-mirror does where it copies a demotion.
  bool lists_peers = false;

  /// From the peer; without an origin: left behind by a forced promotion.
  bool copied() const {
    return kind == MirrorSnapshotKind::kNonPrimary ||
           kind == MirrorSnapshotKind::kNonPrimaryDemoted;
  }
  bool demoted() const {
    return kind == MirrorSnapshotKind::kPrimaryDemoted ||
           kind == MirrorSnapshotKind::kNonPrimaryDemoted;
  }
};

/// Whether an image that is replicated by snapshots is primary: its newest
/// mirror snapshot decides, as in librbd. The oldest one first.
inline bool PrimaryBySnapshots(const std::vector<MirrorSnapshot>& snapshots) {
  return !snapshots.empty() &&
         snapshots.back().kind == MirrorSnapshotKind::kPrimary;
}

enum class MirrorStatusState {
  kUnknown,
  kError,
  kSyncing,
  kStartingReplay,
  kReplaying,
  kStoppingReplay,
  kStopped,
  kUnrecognized  // none that this build knows
};

/// What one site's rbd-mirror daemon last wrote about an image, read from this
/// site's cluster.
struct SiteStatus {
  std::string mirror_uuid;  // empty: the local site
  bool up = false;  // of that site's rbd-mirror daemon, not of its cluster
  MirrorStatusState state = MirrorStatusState::kUnknown;
  std::string description;
  int64_t last_update = 0;  // unix seconds, stamped by this cluster's OSD

  bool local() const { return mirror_uuid.empty(); }
};

/// All entries about one image of a pool. The image's role is not in them.
struct ImageStatuses {
  std::string image_id;
  std::vector<SiteStatus> sites;  // the local one first
};

struct MirrorPeer {
  std::string uuid;
  std::string site_name;
  /// Empty until the peer's rbd-mirror has called here for the first time: with
  /// one-way mirroring it never does. (The C API does not tell when it last
  /// called.)
  std::string mirror_uuid;
  /// What is written here goes there; with one-way mirroring it does not on the
  /// site that receives.
  bool receives = true;
};

/// Somebody copies what is written here. Where nobody does librbd makes no
/// mirror snapshot (EINVAL).
bool HasReceivingPeer(const std::vector<MirrorPeer>& peers);

/// The rbd-mirror of one of them has called here, and so may report again.
bool HasReportingPeer(const std::vector<MirrorPeer>& peers);

absl::string_view Name(MirrorMode mode);
absl::string_view Name(MirrorImageState state);
absl::string_view Name(MirrorSnapshotKind kind);
absl::string_view Name(MirrorStatusState state);

}  // namespace addons

#endif  // ADDONS_CEPH_MIRROR_H_
