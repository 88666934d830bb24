#include "replication/steps/snapshot_room.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/image_objects.h"

namespace addons {
namespace {

/// More than the mirror snapshots that pile up while a peer is away.
constexpr uint64_t kEnoughMore = 10;

std::string DescribeLimit(const SnapshotRoom& room) {
  return absl::StrCat("it has ", room.present, " of the ",
                      room.limit.value_or(room.present),
                      " snapshots that it may have (`rbd snap limit set`), "
                      "mirror snapshots among them");
}

}  // namespace

SnapshotRoom RoomOf(const MirrorView& view) {
  return {view.snapshot_limit,
          view.snapshots.size() + view.other_snapshots.size()};
}

absl::StatusOr<SnapshotRoom> ReadSnapshotRoom(Pool& pool,
                                              const MirrorView& view) {
  SnapshotRoom room = RoomOf(view);
  if (view.info.mode == MirrorMode::kJournal) return room;
  ADDONS_ASSIGN_OR_RETURN(room.limit, ReadSnapshotLimit(pool, view.image_id));
  return room;
}

std::string DescribeNoRoom(const SnapshotRoom& room, absl::string_view what,
                           absl::string_view spec) {
  return absl::StrCat(DescribeLimit(room), ", and ", what,
                      " one more: remove a snapshot, or raise the limit with "
                      "`rbd snap limit set --limit ",
                      room.present + kEnoughMore, " ", spec, "`");
}

std::string DescribeNoRoomForCopy(const SnapshotRoom& room,
                                  const OpenedVolume& opened,
                                  const MirrorView& view) {
  const ResolvedVolume& volume = opened.volume;
  return absl::StrCat(
      DescribeLimit(room),
      ", and a promotion makes one more: raise the limit where the image is "
      "primary, from where it comes with the next mirror snapshot; if that "
      "site is lost, take the limit away here with `rados -p ",
      volume.pool_name,
      volume.rados_namespace.empty()
          ? ""
          : absl::StrCat(" -N ", volume.rados_namespace),
      " rmomapkey ", HeaderObject(view.image_id), " ", kSnapshotLimitKey, "`");
}

std::vector<uint64_t> SpareSnapshots(
    const std::vector<MirrorSnapshot>& snapshots) {
  std::vector<uint64_t> spare;
  for (size_t i = 0; i + 1 < snapshots.size(); ++i) {
    const MirrorSnapshot& snapshot = snapshots[i];
    if (snapshot.kind == MirrorSnapshotKind::kPrimary &&
        snapshot.unsynced_peer_uuids.empty()) {
      spare.push_back(snapshot.id);
    }
  }
  return spare;
}

absl::Status RemoveSnapshots(Image& image, const std::vector<uint64_t>& ids) {
  for (const uint64_t id : ids) {
    if (absl::Status removed = image.RemoveSnapshot(id); !removed.ok()) {
      return removed;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MakeSnapshotRoom(Session& session,
                                             const MirrorView& view,
                                             absl::string_view what) {
  ADDONS_ASSIGN_OR_RETURN(SnapshotRoom room,
                          ReadSnapshotRoom(*session.reads, view));
  if (room.For(1)) return std::string();
  const std::vector<uint64_t> spare = SpareSnapshots(view.snapshots);
  if (room.present - spare.size() >= *room.limit || view.marked_non_primary) {
    return DescribeNoRoom(room, what, session.volume.ImageSpec());
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("making room for a mirror snapshot");
  Log().info("mirror snapshots that every peer has are removed volume={} n={}",
             Quoted(session.volume.volume_id.text()), spare.size());
  ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, [&](Image& image) {
    return RemoveSnapshots(image, spare);
  }));
  return std::string();
}

}  // namespace addons
