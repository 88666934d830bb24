#include "replication/steps/snapshot_turn.h"

#include <algorithm>
#include <cerrno>

#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/steps/snapshot_moment.h"
#include "replication/steps/snapshot_room.h"
#include "replication/steps/stored_schedules.h"

namespace addons {

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
