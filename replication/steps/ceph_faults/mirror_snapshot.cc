#include "replication/steps/ceph_faults/mirror_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/image_header.h"
#include "ceph/image_objects.h"
#include "replication/schedule_store.h"

namespace addons {

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

/// Moments of the manager: `first`, and every `step` before and after it.
struct Moments {
  minutes step{1};
  minutes first{0};
};

Moments MomentsOf(const SnapshotSchedule& schedule) {
  constexpr minutes kZones{15};
  Moments moments;
  // One that does not run as far as is known, or when nobody knows: any full
  // minute.
  if (schedule.Runs() && !schedule.spread) {
    moments.step = minutes(std::gcd(schedule.interval.count(), kZones.count()));
  }
  if (schedule.start.has_value()) {
    moments.first = std::chrono::floor<minutes>(schedule.start->of_day);
  }
  return moments;
}

/// How much later than `now` none of these moments is near any more; zero:
/// none is.
milliseconds LeaveNearest(milliseconds now, const Moments& moments) {
  const milliseconds step = moments.step;
  milliseconds since = (now - moments.first) % step;
  if (since < milliseconds(0)) since += step;
  if (since < kFromManagersSnapshot) return kFromManagersSnapshot - since;
  const milliseconds left = step - since;
  return left < kFromManagersSnapshot ? left + kFromManagersSnapshot
                                      : milliseconds(0);
}

}  // namespace

SteadyDuration UntilMirrorSnapshot(
    WallTime now, const std::vector<SnapshotSchedule>& schedules) {
  const auto begin = std::chrono::ceil<milliseconds>(now.time_since_epoch());
  milliseconds at = begin;
  // All moments are full minutes, so whatever their steps are, the middle of a
  // minute is near none of them.
  while (true) {
    milliseconds later{0};
    if (schedules.empty()) later = LeaveNearest(at, Moments());
    for (const SnapshotSchedule& schedule : schedules) {
      later = std::max(later, LeaveNearest(at, MomentsOf(schedule)));
    }
    if (later == milliseconds(0)) return at - begin;
    at += later;
  }
}

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
  if (view.limit_known || view.info.mode == MirrorMode::kJournal) return room;
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

bool SnapshotTurn::ManagerMakesOneWithin(std::chrono::minutes time) const {
  return std::any_of(schedules.begin(), schedules.end(),
                     [&](const SnapshotSchedule& schedule) {
                       return schedule.Runs() && schedule.interval <= time;
                     });
}

SnapshotTurn NextSnapshotTurn(const Session& session,
                              const std::string& image_id) {
  SnapshotTurn turn;
  turn.schedules = ReadStoredSchedulesThatApply(session.volume, image_id);
  turn.wait =
      UntilMirrorSnapshot(session.context.clock().WallNow(), turn.schedules);
  return turn;
}

absl::Status AwaitSnapshotTurn(const Session& session,
                               const std::string& image_id,
                               const absl::Status& pending, TurnWaits how) {
  OperationContext& context = session.context;
  while (true) {
    const SnapshotTurn turn = NextSnapshotTurn(session, image_id);
    if (turn.now()) return absl::OkStatus();
    context.Step("waiting for a moment without the manager's mirror snapshots");
    context.SetPending(pending);
    if (how == TurnWaits::kLookAgain && !context.mutating()) {
      ADDONS_RETURN_IF_ERROR(context.LookAgainAfter(turn.wait));
      continue;
    }
    // In steps, at each of which the lease is looked at.
    const SteadyTime until = context.clock().Now() + turn.wait;
    while (context.clock().Now() < until) {
      if (how == TurnWaits::kLookAgain &&
          !context.LatestDeadline().has_value()) {
        return pending;
      }
      ADDONS_RETURN_IF_ERROR(context.SleepFor(
          std::min<SteadyDuration>(session.environment.options.longest_rest,
                                   until - context.clock().Now())));
    }
  }
}

absl::Status MakeMirrorSnapshot(const Session& session, Image& image) {
  if (!session.context.mutating()) {
    return absl::InternalError(
        "a mirror snapshot was to be made without the lease");
  }
  ADDONS_ASSIGN_OR_RETURN(const auto peers, session.reads->MirrorPeers());
  if (!HasReceivingPeer(peers)) return absl::OkStatus();
  absl::Status made = image.CreateMirrorSnapshot().status();
  if (CephErrno(made) != EDQUOT) return made;
  // The limit of its snapshots: librbd may have made room by now.
  ADDONS_ASSIGN_OR_RETURN(const auto snapshots, image.MirrorSnapshots());
  const std::vector<uint64_t> spare = SpareSnapshots(snapshots);
  ADDONS_RETURN_IF_ERROR(RemoveSnapshots(image, spare));
  return image.CreateMirrorSnapshot().status();
}

}  // namespace addons
