#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_SNAPSHOT_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_SNAPSHOT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "replication/look/mirror_view.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

/// So far from a moment at which the manager makes a mirror snapshot are those
/// of this daemon. It bridges a difference of the two hosts' clocks of 15 s,
/// and the time that the manager needs for 150 images of one interval.
inline constexpr std::chrono::seconds kFromManagersSnapshot{20};

/// How long from `now` until this daemon may make a mirror snapshot of an image
/// that has these schedules, whole or zero: at once. At most 40 s.
///
/// Two clients that make one of the same image at the same moment die inside
/// librbd (16.2.15, 18.2.7, 20.2.4), and Ceph's manager is such a client. It
/// runs a schedule at the multiples of its interval, counted from 1970-01-01 in
/// its local time, and from the start time. The offset of every time zone is a
/// multiple of a quarter of an hour, so what is avoided is each moment that is
/// one of the manager's in any zone.
///
/// `schedules` are all that apply; none: they are not known, and each full
/// minute may be such a moment. Pure; thread-safe.
SteadyDuration UntilMirrorSnapshot(
    WallTime now, const std::vector<SnapshotSchedule>& schedules);

// Mirror snapshots count where an image may have so many snapshots and no more
// (`rbd snap limit set`). At the limit librbd's demotion and promotion answer
// 0, make no snapshot, and leave an image in no role that is of use (16.2,
// 18.2, 20.2), so whoever calls them looks here first.

/// How many snapshots an image has, of all kinds, and may have.
struct SnapshotRoom {
  std::optional<uint64_t> limit;  // nullopt: any number
  uint64_t present = 0;

  bool For(uint64_t more) const {
    return !limit.has_value() || present + more <= *limit;
  }
};

/// As `view` shows it, which a look without opening the image has made.
SnapshotRoom RoomOf(const MirrorView& view);
/// With the limit that counts now: one read of `pool`. Of an image that is
/// mirrored; in journal mode, which makes no snapshots, nothing is read.
absl::StatusOr<SnapshotRoom> ReadSnapshotRoom(Pool& pool,
                                              const MirrorView& view);

/// "it has 3 of 3 snapshots that it may have, ...", `what` makes one more, and
/// what helps on a primary; `spec` is "pool/image".
std::string DescribeNoRoom(const SnapshotRoom& room, absl::string_view what,
                           absl::string_view spec);
/// The same on a copy, where nothing of that can be changed by the rbd command.
std::string DescribeNoRoomForCopy(const SnapshotRoom& room,
                                  const OpenedVolume& opened,
                                  const MirrorView& view);

/// Mirror snapshots of a primary that every peer has copied past, ascending:
/// librbd removes them itself when it makes the next one.
std::vector<uint64_t> SpareSnapshots(
    const std::vector<MirrorSnapshot>& snapshots);

/// The first that cannot be removed ends it.
absl::Status RemoveSnapshots(Image& image, const std::vector<uint64_t>& ids);

/// Makes room for one more snapshot of a primary, where only a spare one is in
/// the way; that is a change, with the lease. What is in the way of it, by
/// DescribeNoRoom(); empty: there is room. One read where there was.
absl::StatusOr<std::string> MakeSnapshotRoom(Session& session,
                                             const MirrorView& view,
                                             absl::string_view what);

// Mirror snapshots that this daemon makes itself: one at a time of an image,
// which the lease sees to, and none at the manager's moments
// (UntilMirrorSnapshot()). Whoever makes one asks here first.

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

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_MIRROR_SNAPSHOT_H_
