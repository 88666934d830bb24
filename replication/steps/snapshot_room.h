#ifndef ADDONS_REPLICATION_STEPS_SNAPSHOT_ROOM_H_
#define ADDONS_REPLICATION_STEPS_SNAPSHOT_ROOM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "replication/look/mirror_view.h"
#include "replication/session.h"

namespace addons {

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

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_SNAPSHOT_ROOM_H_
