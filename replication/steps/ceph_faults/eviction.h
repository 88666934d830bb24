#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_EVICTION_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_EVICTION_H_

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "replication/environment.h"
#include "replication/session.h"

namespace addons {

/// Who has the exclusive lock of an image.
struct LockOwner {
  Watcher client;
  /// It has the image not open, and is no rbd-mirror that is there.
  bool dead = false;
};

/// nullopt: nobody, or a handle of this process that is not open any more.
/// `image` is an open handle of the session's. Errors are those of the reads.
absl::StatusOr<std::optional<LockOwner>> FindLockOwner(Session& session,
                                                       Image& image);

/// Blocklists a dead owner for five minutes, and takes the OSD map to the
/// acting primaries of the image's pool: what it had begun with the image's
/// header does not arrive any more. Blocks for a second or two. Call within a
/// mutation.
absl::Status EndLockOwner(Session& session, const LockOwner& owner);

/// Whether nobody can be copying onto the volume's pool: no rbd-mirror client
/// is there, or all that are have been blocklisted a moment ago, by this or
/// another promotion of the pool. `image` is an open handle of the session's.
/// Errors are those of the reads.
absl::StatusOr<bool> CopyingHasEnded(Session& session, Image& image);
/// The same where no handle is open: it opens one, read-only.
absl::StatusOr<bool> CopyingHasEnded(Session& session);

/// Ends the copying, where it has not ended yet: the rbd-mirror clients of this
/// pool in this cluster (those of this site and of its peers), and whoever died
/// with the lock of the image, are blocklisted for five minutes, and the OSD
/// map is taken to the acting primaries of the pool and of the image's data
/// pool. From then on a look at the image stays true until rbd-mirror comes
/// back, seconds later at the earliest. Replication of the pool pauses for 20
/// to 70 s, in both directions.
///
/// Blocks for a second or two; waits while another promotion of the pool does
/// the same, and shares it then. Call within a mutation. `others_alive`: peers
/// report, so that their silence from now on is this daemon's doing.
absl::Status EndCopying(Session& session, bool others_alive);

/// Around librbd's forced promotion, which decides what to go back to long
/// before it is done: an rbd-mirror that comes back meanwhile is blocklisted at
/// once (ReplicationOptions::eviction_round), before it can copy. librbd waits
/// for ever for a holder of the image that lives: each kPatience everybody is
/// blocklisted, the owner of its lock included.
///
/// Works on a thread of its own, because the caller's is inside librbd; and by
/// real time, because that is what librbd blocks in. The destructor waits for
/// it.
class EvictionWatchdog {
 public:
  static constexpr std::chrono::seconds kPatience{30};

  /// Nothing is owned; the session is left to this object while it lives.
  /// UNAVAILABLE: no thread can be made, and nobody would end a promotion that
  /// waits for ever, so it must not begin.
  static absl::StatusOr<std::unique_ptr<EvictionWatchdog>> Start(
      Session& session);
  ~EvictionWatchdog();
  EvictionWatchdog(const EvictionWatchdog&) = delete;
  EvictionWatchdog& operator=(const EvictionWatchdog&) = delete;

 private:
  EvictionWatchdog() = default;

  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_EVICTION_H_
