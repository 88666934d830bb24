#ifndef ADDONS_REPLICATION_STEPS_SNAPSHOT_TURN_H_
#define ADDONS_REPLICATION_STEPS_SNAPSHOT_TURN_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

// Mirror snapshots that this daemon makes itself: one at a time of an image,
// which the lease sees to, and none at the manager's moments
// (snapshot_moment.h). Whoever makes one asks here first.

/// When it is this daemon's turn to make a mirror snapshot of an image.
struct SnapshotTurn {
  /// How long until then; zero: now. At most 40 s.
  SteadyDuration wait{0};
  /// What the manager keeps for the image; empty: not known.
  std::vector<SnapshotSchedule> schedules;

  bool now() const { return wait == SteadyDuration::zero(); }
  /// One of the manager's own is made within that time, if it is at work.
  bool ManagerMakesOneWithin(std::chrono::minutes time) const;
};

/// By this host's wall clock, and the schedules as the manager keeps them. Asks
/// the manager nothing; blocks for three reads at most.
SnapshotTurn NextSnapshotTurn(const Session& session,
                              const std::string& image_id);

/// Waits until it is this daemon's turn, with `pending` for callers that leave
/// meanwhile: for work that can begin anew (LookAgainAfter()), or in place.
/// `pending` when nobody waits any more after the first change of such work.
enum class TurnWaits { kLookAgain, kInPlace };
absl::Status AwaitSnapshotTurn(const Session& session,
                               const std::string& image_id,
                               const absl::Status& pending, TurnWaits how);

/// Makes one. With the lease, and in this daemon's turn. OK, and none is made,
/// where no peer would copy it.
absl::Status MakeMirrorSnapshot(const Session& session, Image& image);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_SNAPSHOT_TURN_H_
