#ifndef ADDONS_WATCH_WATCH_SNAPSHOT_H_
#define ADDONS_WATCH_WATCH_SNAPSHOT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "replication/look/known_proofs.h"
#include "replication/look/watched.h"
#include "replication/steps/info.h"

namespace addons {

// What the background watch has seen of replication. What is not known is
// absent, never zero.

enum class WatchedRole { kPrimary, kSecondary, kUnclear };
inline constexpr size_t kWatchedRoles = 3;
inline constexpr size_t kReplicationHealths = 3;

/// Why a copy cannot be relied on: the sites have gone their own ways; it lacks
/// what a clone had from its parent; a forced promotion waits for a decision; a
/// rollback has not ended.
enum class BrokenCopy { kSplitBrain, kClone, kRescue, kDamaged, kRollback };
inline constexpr size_t kBrokenCopies = 5;

/// How the copy of an image is, the better first. In step: it follows, and is
/// as new as the schedule wants, where that is known. Copying: it is made for
/// the first time, or anew. Unknown: it could not be seen. Late: it is older
/// than two intervals, or nothing makes it newer. Broken: it cannot be relied
/// on.
enum class CopyState { kInStep, kCopying, kUnknown, kLate, kBroken };
inline constexpr size_t kCopyStates = 5;
/// By state.
using CopyStateCounts = std::array<size_t, kCopyStates>;

/// "primary", "secondary", "unclear".
absl::string_view Name(WatchedRole role);
/// "healthy", "degraded", "error".
absl::string_view Name(ReplicationHealth health);
/// "split-brain", "clone", "rescue", "damaged", "rollback".
absl::string_view Name(BrokenCopy reason);
/// "in step", "copying", "unknown", "late", "broken".
absl::string_view Name(CopyState state);

/// A volume group as ceph-csi's journal has it.
struct JournalGroup {
  std::string name;  // of the request that made it
  std::string id;
};
/// By the uuid of a member.
using JournalGroups = std::map<std::string, JournalGroup>;

/// A mirrored image.
struct WatchedImage {
  std::string image_id;
  std::string image;        // its name; "id <image id>" while that is not known
  std::string volume_id;    // as the last call wrote it; empty: no call has
  std::string volume_name;  // csi.volname, from a call or the image's notes
  std::string claim;        // "namespace/name" of the PVC; likewise
  JournalGroup group;       // of which its volume is a member; empty: of none
  WatchedRole role = WatchedRole::kUnclear;
  ReplicationHealth health = ReplicationHealth::kHealthy;
  std::string state;    // of the rbd-mirror that copies it: "replaying"
  std::string message;  // what is the case and what to do next
  std::optional<int64_t> last_sync;         // unix seconds, on the primary
  std::optional<int64_t> lag_seconds;       // age of that at the look
  std::optional<int64_t> interval_seconds;  // of its schedule
  std::optional<double> lag_ratio;          // age / interval
  std::optional<int64_t> bytes_remaining;   // of what is being copied
  std::optional<int64_t> percent;           // of it, copied
  /// How fast rbd-mirror says that it copies: a mean of its own, of the last
  /// half minute or so. Known while it copies.
  std::optional<int64_t> bytes_per_second;
  /// When the newest mirror snapshot of a primary was taken; known while
  /// rbd-mirror of the peer reports and copies nothing.
  std::optional<int64_t> newest_snapshot;
  /// Snapshots that were due since then and were not taken; likewise.
  std::optional<int64_t> missed_snapshots;
  bool split_brain = false;
  CopyState copy = CopyState::kUnknown;
  // As the last call that looked at the image itself has found it.
  bool lacks_parent = false;
  bool awaits_restore = false;
  bool rolls_back = false;

  /// Of a secondary: what a comparison with a point has found last; without a
  /// name: nothing.
  KnownProof proof;

  bool Is(BrokenCopy reason) const;
};

/// A pool and namespace of a cluster.
struct WatchedPool {
  std::string cluster_id;
  std::string pool;
  std::string rados_namespace;
  /// When it was looked at last with success, by the daemon's clock; nullopt:
  /// never.
  std::optional<SteadyTime> seen_at;
  /// When that look began: what has changed since is not in it.
  std::optional<SteadyTime> began_at;
  /// Why it cannot be seen now; empty: it was seen at the last look. The rest
  /// is what was seen then.
  std::string unseen;
  uint64_t failed_looks = 0;
  /// Since when each look was told that the cluster has put this daemon's
  /// client on the blocklist, or a little later; nullopt: the last one was not.
  std::optional<SteadyTime> blocklisted_since;
  std::string schedules_unseen;  // why they are not known; empty: they are
  /// An rbd-mirror of the site reports; nullopt: none ever has.
  std::optional<bool> local_mirror_up;
  std::optional<bool> peer_mirror_up;
  /// When a peer's rbd-mirror has reported last, or a little later, by the
  /// daemon's clock; nullopt: none ever has.
  std::optional<SteadyTime> peer_heard_at;
  std::array<size_t, kWatchedRoles> by_role{};          // of all images
  std::array<size_t, kReplicationHealths> by_health{};  // likewise
  std::array<size_t, kBrokenCopies> broken{};  // an image may count in several
  CopyStateCounts by_copy{};                   // of all images
  std::vector<std::string> peers;              // names of their sites
  /// Secondaries whose volume the journal of this site does not have, so that
  /// no verb finds it; nullopt: not known yet.
  std::optional<size_t> without_entry;
  /// Of its journal; their members may be in other pools. Null: none.
  std::shared_ptr<const JournalGroups> groups;
  size_t total = 0;                  // images under mirroring
  std::vector<WatchedImage> images;  // trouble first, then by name
  /// How many of them are not among `images`.
  size_t truncated() const { return total - images.size(); }
};

/// A range or an address that is fenced, whoever fenced it.
struct WatchedFence {
  std::string range;             // "10.0.0.0/24"
  std::optional<int64_t> until;  // unix seconds; nullopt: it cannot be read
};

/// The blocklist of a cluster.
struct WatchedFences {
  static constexpr size_t kMost = 200;

  std::string cluster_id;
  /// As those of WatchedPool.
  std::optional<SteadyTime> seen_at;
  std::string unseen;
  /// Since when no monitor of the cluster has answered, or a little earlier;
  /// nullopt: one has at the last look, or none was asked yet.
  std::optional<SteadyTime> silent_since;
  size_t total = 0;                  // ranges and addresses
  size_t clients = 0;                // entries of single clients
  std::vector<WatchedFence> fences;  // kMost, those that end first
};

/// Immutable once it is published.
struct WatchSnapshot {
  uint64_t number = 0;                 // another one for each that is published
  std::optional<SteadyTime> taken_at;  // nullopt: no look has ended yet
  std::vector<WatchedPool> pools;      // by cluster, pool, namespace
  size_t pools_left_out = 0;           // because there are too many
  /// Why not all that --watch-user should find is found; empty: it is, or there
  /// is no such user.
  std::string own_trouble;
  std::vector<WatchedFences> fences;  // by cluster
  std::vector<WatchedGroup> groups;   // by id
};

/// Whether `a` needs a person sooner than `b`; equal trouble: by name.
bool TroubleFirst(const WatchedImage& a, const WatchedImage& b);

}  // namespace addons

#endif  // ADDONS_WATCH_WATCH_SNAPSHOT_H_
