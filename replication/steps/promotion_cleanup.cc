#include "replication/steps/promotion_cleanup.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/mirror_clients.h"
#include "replication/look/journal.h"
#include "replication/look/known_proofs.h"
#include "replication/look/move_marks.h"
#include "replication/look/point.h"
#include "replication/look/rescue_record.h"
#include "replication/look/rollback_mark.h"
#include "replication/steps/ceph_faults/eviction.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/write_record.h"

namespace addons {

namespace {

/// What the mark as a secondary was seen on.
struct MarkedHeader {
  /// Whoever begins a promotion or demotion changes it first.
  uint64_t version = 0;
  std::optional<LockOwner> lock_owner;
};

absl::StatusOr<MarkedHeader> LookAtMark(Session& session, MirrorView* view) {
  MarkedHeader header;
  // In this order.
  ADDONS_ASSIGN_OR_RETURN(header.version,
                          session.reads->HeaderVersion(view->image_id));
  ADDONS_ASSIGN_OR_RETURN(
      *view,
      LookOpened(session, [&](Image& image, const MirrorView&) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(header.lock_owner,
                                FindLockOwner(session, image));
        return absl::OkStatus();
      }));
  return header;
}

}  // namespace

absl::Status MakeWritable(Session& session, absl::string_view verb,
                          MirrorView* view) {
  if (!view->marked_non_primary) return absl::OkStatus();
  OperationContext& context = session.context;
  const ReplicationOptions& options = session.environment.options;
  const auto refuse = [&](const std::string& reason) {
    return FailedTo(verb, session.volume, absl::StatusCode::kUnavailable,
                    reason);
  };
  const SteadyTime patience = context.clock().Now() + options.watch_timeout;
  // So does a promotion that another replica is just finishing.
  ADDONS_RETURN_IF_ERROR(context.SleepFor(options.look_gap));
  MarkedHeader header;
  while (true) {
    ADDONS_ASSIGN_OR_RETURN(header, LookAtMark(session, view));
    if (!view->info.primary) {
      return refuse(
          "somebody has demoted the image meanwhile; repeat the call");
    }
    if (!view->marked_non_primary) return absl::OkStatus();
    if (!header.lock_owner.has_value() || header.lock_owner->dead) break;
    // It may be in the middle of a promotion or demotion, or have died lately.
    absl::Status pending = refuse(absl::StrCat(
        "the image is primary but refuses writes, and its lock belongs to ",
        DescribeWatchers({header.lock_owner->client}),
        ", which may be changing its role; end that client when it stays, and "
        "repeat the call"));
    if (context.clock().Now() >= patience) return pending;
    context.Step("waiting until nobody has the lock of the image");
    context.SetPending(pending);
    ADDONS_RETURN_IF_ERROR(context.SleepFor(options.poll_interval));
  }
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("making a primary writable that refuses writes");
  if (header.lock_owner.has_value()) {
    ADDONS_RETURN_IF_ERROR(EndLockOwner(session, *header.lock_owner));
  }
  Log().warn(
      "the image is primary but refuses writes; its mark as a secondary is "
      "taken away volume={}",
      Quoted(session.volume.volume_id.text()));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          session.volume.OpenPool(Access::kMutate));
  ADDONS_RETURN_IF_ERROR(
      pool->ClearNonPrimary(view->image_id, header.version).status());
  // What has changed meanwhile is looked at by the retry.
  ADDONS_ASSIGN_OR_RETURN(*view, Look(session));
  if (view->info.primary && !view->marked_non_primary) return absl::OkStatus();
  return refuse(
      view->info.primary
          ? "the image is primary but refuses writes; repeat the call"
          : "somebody has demoted the image meanwhile; repeat the call");
}

absl::Status RemoveHalfCopies(Session& session, const MirrorView& view) {
  const std::vector<uint64_t> half = HalfCopies(view);
  if (half.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("removing half a copy");
  const auto remove = [&](Image& image) -> absl::Status {
    for (const uint64_t snapshot_id : half) {
      ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
    }
    return absl::OkStatus();
  };
  return ChangeAsSeen(session, view, remove).status();
}

absl::Status RemovePoints(const std::vector<Point>& points, Image& image,
                          const std::function<bool()>& goes_on) {
  absl::Status status;
  size_t left = points.size();
  for (const Point& point : points) {
    if (goes_on != nullptr && !goes_on()) break;
    status.Update(image.RemoveSnapshot(point.snapshot));
    --left;
  }
  if (left > 0) {
    status.Update(absl::UnavailableError(
        absl::StrCat(left, " of ", points.size(), " were not removed yet")));
  }
  if (!points.empty()) status.Update(ReplacePointRecord(image, {}));
  return status;
}

void RemovePointsOfFormerPrimary(const Session& session, Image& image,
                                 const MirrorView& view) {
  if (!IsCopy(view)) return;
  std::vector<Point> points = PointsIn(view.other_snapshots);
  const auto rollback = ReadRollbackMark(view);
  std::erase_if(points, [&rollback](const Point& point) {
    return NeededByRollback(rollback, point.name);
  });
  RemoveFormerPoints(session, image, points);
}

void RemoveFormerPoints(const Session& session, Image& image,
                        const std::vector<Point>& points) {
  if (points.empty()) return;
  const Clock& clock = session.context.clock();
  const SteadyTime until = clock.Now() + kFormerPointsTime;
  const absl::Status removed = RemovePoints(
      points, image, [&clock, until] { return clock.Now() < until; });
  if (removed.ok()) return;
  Log().warn(
      "points of the site that was primary before stay, and prove nothing any "
      "more: remove them with `rbd-addons point remove` before the image is "
      "copied anew volume={} message={}",
      Quoted(session.volume.volume_id.text()), Quoted(removed.message()));
}

absl::Status CompleteHalfDone(Session& session, MirrorView* view) {
  const auto half_done = [](const MirrorView& seen) {
    const MirrorSnapshot* newest = seen.Newest();
    return newest != nullptr && newest->kind == MirrorSnapshotKind::kPrimary &&
           !newest->complete;
  };
  if (view->info.mode == MirrorMode::kJournal || !half_done(*view)) {
    return absl::OkStatus();
  }
  // A scheduled snapshot looks the same for a moment while it is made.
  const uint64_t suspect = view->Newest()->id;
  ADDONS_RETURN_IF_ERROR(
      session.context.SleepFor(session.environment.options.look_gap));
  ADDONS_ASSIGN_OR_RETURN(*view, Look(session));
  if (!half_done(*view) || view->Newest()->id != suspect) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(AwaitSnapshotTurn(
      session, view->image_id,
      FailedTo("promote", session.volume, absl::StatusCode::kUnavailable,
               "its newest mirror snapshot is not complete; a new one is made "
               "when the manager makes none; repeat the call"),
      TurnWaits::kLookAgain));
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("completing a half-done promotion");
  Log().warn("completing a half-done promotion volume={} snapshot={}",
             Quoted(session.volume.volume_id.text()), suspect);
  return ChangeImage(session.volume, [&](Image& image) {
    return MakeMirrorSnapshot(session, image);
  });
}

absl::Status ForgetMove(Image& image, const LocalRecord& record,
                        MirrorView* view, MetadataChanges also) {
  if (view->refused_demotion.has_value()) {
    also[kRefusedDemotionKey] = std::nullopt;
  }
  ADDONS_RETURN_IF_ERROR(WriteLocalRecord(image, record, view, also));
  view->refused_demotion.reset();
  return absl::OkStatus();
}

absl::Status RemoveMarks(Session& session, MirrorView* view) {
  if (!view->own.demotion.has_value() && !view->refused_demotion.has_value()) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  return ChangeImage(session.volume, [&](Image& image) -> absl::Status {
    LocalRecord record = view->own;
    record.demotion.reset();
    return ForgetMove(image, record, view);
  });
}

absl::Status RemoveStaleResyncRequest(Session& session, MirrorView* view) {
  if (!view->resync_requested) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  if (view->info.mode == MirrorMode::kJournal) {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            session.volume.OpenPool(Access::kMutate));
    ADDONS_RETURN_IF_ERROR(ClearJournalResync(*pool, view->image_id));
  }
  const auto remove = [](Image& image) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const auto requests,
                            image.ListMetadata(kResyncKeyPrefix));
    MetadataChanges changes;
    for (const auto& [key, value] : requests) {
      if (absl::StrContains(value, "resync_requested")) {
        changes[key] = std::nullopt;
      }
    }
    return image.ChangeMetadata(changes);
  };
  ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, remove));
  view->resync_requested = false;
  return absl::OkStatus();
}

}  // namespace addons
