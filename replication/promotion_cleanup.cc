#include "replication/promotion_cleanup.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/snapshot_turn.h"
#include "replication/state/journal_resync.h"
#include "replication/state/move_marks.h"
#include "replication/state/rescue_record.h"

namespace addons {

namespace {

/// nullopt: somebody may be in the middle of a promotion or demotion, which
/// librbd makes with the exclusive lock. Otherwise the version of the header,
/// which whoever begins one changes first.
absl::StatusOr<std::optional<uint64_t>> VersionWithoutLock(Session& session,
                                                           MirrorView* view) {
  // In this order.
  ADDONS_ASSIGN_OR_RETURN(const uint64_t version,
                          session.reads->HeaderVersion(view->image_id));
  bool lockable = false;
  bool locked = false;
  ADDONS_ASSIGN_OR_RETURN(
      *view,
      Look(session, [&](Image& image, const MirrorView&) -> absl::Status {
        ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features, image.Features());
        lockable = features.exclusive_lock;
        ADDONS_ASSIGN_OR_RETURN(const auto lockers, image.Lockers());
        locked = !lockers.empty();
        return absl::OkStatus();
      }));
  if (!lockable || locked) return std::nullopt;
  return version;
}

/// Through librbd, which takes the lock for both. The status of the second.
absl::StatusOr<absl::Status> DemoteAndPromote(const ResolvedVolume& volume) {
  ADDONS_RETURN_IF_ERROR(
      ChangeImage(volume, [](Image& image) { return image.MirrorDemote(); }));
  return ChangeImage(
      volume, [](Image& image) { return image.MirrorPromote(Force::kNo); });
}

}  // namespace

absl::Status MakeWritable(
    Session& session,
    const std::function<absl::Status(const MirrorView&)>& note,
    MirrorView* view) {
  if (!view->marked_non_primary) return absl::OkStatus();
  const auto refuse = [&](const char* reason) {
    return FailedTo("promote", session.volume, absl::StatusCode::kUnavailable,
                    reason);
  };
  // So does a promotion that another replica is just finishing.
  ADDONS_RETURN_IF_ERROR(
      session.context.SleepFor(session.environment.options.look_gap));
  ADDONS_ASSIGN_OR_RETURN(const std::optional<uint64_t> version,
                          VersionWithoutLock(session, view));
  if (!view->info.primary) {
    return refuse("somebody has demoted the image meanwhile; repeat the call");
  }
  if (!view->marked_non_primary) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("making a half-promoted image writable");
  const MirrorSnapshot* newest = view->Newest();
  const bool by_mark = version.has_value() && newest != nullptr &&
                       newest->kind == MirrorSnapshotKind::kPrimary;
  Log().warn("the image is primary but refuses writes; {} volume={}",
             by_mark ? "its mark as a secondary is taken away"
                     : "demoting and promoting it again",
             Quoted(session.volume.volume_id.text()));
  absl::Status promoted;
  if (by_mark) {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            session.volume.OpenPool(Access::kMutate));
    // What has changed meanwhile is looked at by the retry.
    ADDONS_RETURN_IF_ERROR(
        pool->ClearNonPrimary(view->image_id, *version).status());
  } else {
    ADDONS_RETURN_IF_ERROR(note(*view));
    ADDONS_ASSIGN_OR_RETURN(promoted, DemoteAndPromote(session.volume));
  }
  ADDONS_ASSIGN_OR_RETURN(*view, Look(session));
  if (view->info.primary && !view->marked_non_primary) return absl::OkStatus();
  // rbd-mirror looks at what has been demoted for a moment.
  const int error = CephErrno(promoted);
  if (error != EBUSY && error != EROFS && error != EAGAIN) {
    ADDONS_RETURN_IF_ERROR(promoted);
  }
  if (view->info.primary) {
    return refuse("the image is primary but refuses writes; repeat the call");
  }
  return refuse(
      by_mark ? "somebody has demoted the image meanwhile; repeat the call"
              : "the image refused writes and was demoted to mend that; "
                "rbd-mirror holds it now; repeat the call");
}

absl::Status RemoveHalfCopies(Session& session, const MirrorView& view) {
  const std::vector<uint64_t> half = HalfCopies(view);
  if (half.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("removing half a copy");
  return ChangeImage(session.volume, [&](Image& image) -> absl::Status {
    for (const uint64_t snapshot_id : half) {
      ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
    }
    return absl::OkStatus();
  });
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

absl::Status RemoveMarks(Image& image, MirrorView* view) {
  if (view->refused_demotion.has_value()) {
    ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(kRefusedDemotionKey));
    view->refused_demotion.reset();
    view->marks.erase(kRefusedDemotionKey);
  }
  if (view->own_demotion_mark.has_value()) {
    ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(kOwnDemotionKey));
    view->own_demotion_mark.reset();
    view->marks.erase(kOwnDemotionKey);
  }
  return absl::OkStatus();
}

absl::Status RemoveMarks(Session& session, const MirrorView& view) {
  if (!view.own_demotion_mark.has_value() &&
      !view.refused_demotion.has_value()) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  return ChangeImage(session.volume, [&](Image& image) {
    MirrorView before = view;
    return RemoveMarks(image, &before);
  });
}

absl::Status RemoveStaleResyncRequest(Session& session,
                                      const MirrorView& view) {
  if (!view.resync_requested) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  if (view.info.mode == MirrorMode::kJournal) {
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                            session.volume.OpenPool(Access::kMutate));
    ADDONS_RETURN_IF_ERROR(ClearJournalResync(*pool, view.image_id));
  }
  return ChangeImage(session.volume, [](Image& image) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const auto requests,
                            image.ListMetadata(kResyncKeyPrefix));
    for (const auto& [key, value] : requests) {
      if (!absl::StrContains(value, "resync_requested")) continue;
      ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(key));
    }
    return absl::OkStatus();
  });
}

}  // namespace addons
