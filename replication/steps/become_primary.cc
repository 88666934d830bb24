#include "replication/steps/become_primary.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/errors.h"
#include "ceph/pinned_options.h"
#include "replication/look/mount_restriction.h"
#include "replication/look/record.h"
#include "replication/look/role_log.h"
#include "replication/look/rollback_mark.h"
#include "replication/steps/ceph_faults/eviction.h"
#include "replication/steps/ceph_faults/mirror_client_guard.h"
#include "replication/steps/ceph_faults/mirror_snapshot.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/parent.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/write_record.h"
#include "replication/write_back.h"

namespace addons {
BecomePrimary::BecomePrimary(const PromoteRequest& request, Session& session,
                             Rescue& rescue, WaitFn wait)
    : context_(session.context),
      environment_(session.environment),
      request_(request),
      session_(session),
      rescue_(rescue),
      wait_(std::move(wait)) {}

absl::StatusOr<std::optional<MirrorView>> BecomePrimary::Promote(
    Step step, const MirrorView& seen, SteadyTime looked_at,
    std::optional<RescueRecord>* record) {
  view_ = seen;
  looked_at_ = looked_at;
  record_ = record;
  const bool plain = step == Step::kPromote;
  const MirrorSnapshot* const copy = LastCopy(seen);
  whole_before_ = copy == nullptr ? 0 : copy->id;
  ADDONS_RETURN_IF_ERROR(NeedRoom());
  ADDONS_RETURN_IF_ERROR(NeedWayBack());
  if (plain) {
    ADDONS_RETURN_IF_ERROR(PrepareRescue(step));
    took_back_ = view_.LastDemotionIsOwn();
  } else {
    ADDONS_ASSIGN_OR_RETURN(const bool ready, PrepareForce(step));
    if (!ready) return std::nullopt;
  }
  ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorView> promoted,
                          TryPromote(plain ? Force::kNo : Force::kYes));
  if (!promoted.has_value()) return std::nullopt;
  NoteRoleChange(
      session_,
      RoleChange{RoleVerb::kPromote, plain ? Force::kNo : Force::kYes},
      RoleName(view_), RoleName(*promoted),
      plain ? "promoted" : ForcedPromotion(seen));
  if (!plain) WarnOfCloneLoss(session_, *promoted);
  return promoted;
}

absl::Status BecomePrimary::Refuse(const std::string& reason) const {
  return FailedTo("promote", session_.volume, absl::StatusCode::kUnavailable,
                  reason);
}

bool BecomePrimary::OutOfPatience() const {
  return mutating_since_.has_value() &&
         context_.clock().Now() - *mutating_since_ >
             environment_.options.promote_patience;
}

absl::Status BecomePrimary::EndCopyingFirst() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  ADDONS_RETURN_IF_ERROR(EndCopying(
      session_, view_.AnyFreshPeer(environment_.options.settle_time)));
  copying_ended_at_ = context_.clock().Now();
  return absl::OkStatus();
}

/// The last look was made after the copying had ended, just now. Whether nobody
/// has come back since is seen right before the promotion: StillHolds().
bool BecomePrimary::LookIsFinal() const {
  constexpr std::chrono::seconds kFresh{3};
  return copying_ended_at_.has_value() && looked_at_ >= *copying_ended_at_ &&
         environment_.clock.Now() - looked_at_ <= kFresh;
}

/// Each try of a promotion that cannot begin looks again.
absl::Status BecomePrimary::RefuseAfterPatience() {
  if (!OutOfPatience()) return absl::OkStatus();
  return Refuse(
      "rbd-mirror comes back again and again before the promotion "
      "can begin, or Ceph answers too slowly; repeat the call");
}

/// Everything that must be true for librbd's forced promotion. false: not yet,
/// look again.
absl::StatusOr<bool> BecomePrimary::PrepareForce(Step step) {
  if (!LookIsFinal()) {
    ADDONS_RETURN_IF_ERROR(RefuseAfterPatience());
    ADDONS_RETURN_IF_ERROR(EndCopyingFirst());
    return false;
  }
  if (step == Step::kRescue && RescueSnapshot(view_) != nullptr) {
    ADDONS_ASSIGN_OR_RETURN(const bool saved, rescue_.Saved(view_));
    if (!saved) {
      ADDONS_RETURN_IF_ERROR(rescue_.Save(view_));
      // That took its time.
      mutating_since_ = context_.clock().Now();
      ADDONS_RETURN_IF_ERROR(EndCopyingFirst());
      return false;
    }
  }
  ADDONS_RETURN_IF_ERROR(PrepareRescue(step));
  return true;
}

/// A rescue image is the last complete state from here on, or it must not be
/// there any more: after this promotion it would be taken for that.
absl::Status BecomePrimary::PrepareRescue(Step step) {
  if (step != Step::kRescue) {
    if (!record_->has_value()) return absl::OkStatus();
    if (!AwaitsRestore(**record_, view_)) {
      ADDONS_RETURN_IF_ERROR(rescue_.Remove());
      record_->reset();
      return absl::OkStatus();
    }
  }
  ADDONS_ASSIGN_OR_RETURN(*record_, rescue_.BeginPromotion(view_));
  return absl::OkStatus();
}

/// What a promotion notes on the handle that promoted: the table sees what is
/// missing, and would open the image for it. `view` shows the notes.
/// What is left of an earlier term goes: what shows that it is older is dropped
/// a few snapshots later.
absl::Status BecomePrimary::WriteNotes(Image& image, Force force,
                                       MirrorView* view) {
  LocalRecord record = view->own;
  record.term.reset();
  record.first_copy_awaited = false;
  record.promoted_from.reset();
  record.restored.reset();
  // Of a promotion by force nothing shows that no other site went on.
  if (force == Force::kNo && view_.info.mode != MirrorMode::kJournal) {
    record.promoted_from = PromotedFrom(view_);
  }
  // Another program may have demoted it: the pause is over all the same.
  if (record.pause.has_value()) record.pause->step = PauseStep::kResuming;
  if (force == Force::kNo && took_back_) {
    // From now on the retry knows that nobody was told.
    record.demotion = OwnDemotionMark{OwnDemotionStep::kTakenBack};
    return WriteLocalRecord(image, record, view);
  }
  // A retry must not take this for a demotion that was taken back, and yield.
  record.demotion.reset();
  MetadataChanges also = TakeOverMountRestriction(*view, force);
  if (const auto changed = also.find(kServiceAccountKey);
      changed != also.end()) {
    Log().info("who may mount is as on the other site volume={} accounts={}",
               Quoted(session_.volume.volume_id.text()),
               Quoted(changed->second.value_or("")));
  }
  if (request_.parameters.schedule.has_value() &&
      view_.info.mode == MirrorMode::kSnapshot) {
    also.merge(NoteSchedule(session_.volume, *request_.parameters.schedule,
                            request_.scope, *view, &record));
  }
  return ForgetMove(image, record, view, also);
}

/// The image as the handle that promoted shows it. That counts where it was
/// read after all that librbd has changed: the mark that refuses writes goes
/// last, and that a snapshot is complete is known from the cluster alone.
/// Otherwise (nullopt) the image is opened anew to see it.
std::optional<MirrorView> BecomePrimary::ReadBack(Image& image) {
  // There the role stands in the journal.
  if (view_.info.mode != MirrorMode::kSnapshot) return std::nullopt;
  auto seen = Look(session_, image);
  if (!seen.ok() || !seen->info.primary || seen->marked_non_primary) {
    return std::nullopt;
  }
  const MirrorSnapshot* newest = seen->Newest();
  if (newest == nullptr || newest->kind != MirrorSnapshotKind::kPrimary ||
      !newest->complete) {
    return std::nullopt;
  }
  return *std::move(seen);
}

/// Reads back before the notes: librbd reads the header anew for the first of
/// them in any case.
absl::Status BecomePrimary::ReadBackAndNote(Image& image, Force force) {
  std::optional<MirrorView> seen = ReadBack(image);
  MirrorView view = seen.value_or(view_);
  ADDONS_RETURN_IF_ERROR(WriteNotes(image, force, &view));
  // While it is to go to a point, another one may yet be chosen.
  const auto rollback = ReadRollbackMark(view_);
  if (!rollback.has_value() || !rollback->untouched) {
    RemovePointsOfFormerPrimary(session_, image, view_);
  }
  // Its note says more than `view` shows.
  if (seen.has_value() && !took_back_) read_back_ = std::move(view);
  return absl::OkStatus();
}

/// librbd answers 0 where a promotion makes no snapshot for want of room, and
/// leaves a copy that takes writes.
absl::Status BecomePrimary::NeedRoom() {
  ADDONS_ASSIGN_OR_RETURN(const SnapshotRoom room,
                          ReadSnapshotRoom(*session_.reads, view_));
  if (room.For(1)) return absl::OkStatus();
  return Refuse(DescribeNoRoomForCopy(room, session_, view_));
}

/// What would keep it from ever going back to the point is seen before. The
/// rest can be mended on a primary only.
absl::Status BecomePrimary::NeedWayBack() {
  const std::string& name = request_.parameters.restore_point;
  const auto point = FindPoint(view_.other_snapshots, name);
  if (name.empty() || !point.has_value() ||
      std::exchange(way_back_seen_, true)) {
    return absl::OkStatus();
  }
  absl::Status possible =
      LayoutAt(session_, "promote", view_.image_id, point->snapshot).status();
  if (!absl::IsFailedPrecondition(possible)) return possible;
  return absl::InvalidArgumentError(possible.message());
}

absl::Status BecomePrimary::CallPlain() {
  const MirrorClientGuard guard(session_.cluster(), *session_.reads,
                                environment_.timeline);
  const auto promote = [this](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(NotePoint(image));
    ADDONS_RETURN_IF_ERROR(image.MirrorPromote(Force::kNo));
    return ReadBackAndNote(image, Force::kNo);
  };
  ADDONS_ASSIGN_OR_RETURN(const bool promoted,
                          ChangeAsSeen(session_, view_, promote));
  overtaken_ = !promoted;
  return absl::OkStatus();
}

/// Nobody can be copying, and the image is what the decision rests on, seen
/// through the handle that promotes: librbd goes by what that one knows.
absl::StatusOr<bool> BecomePrimary::StillHolds(Image& image,
                                               SteadyTime opened_at) {
  // What a handle knows is from when it was opened, until somebody tells it.
  constexpr std::chrono::seconds kOpened{5};
  if (context_.clock().Now() - opened_at > kOpened) return false;
  ADDONS_ASSIGN_OR_RETURN(const bool ended, CopyingHasEnded(session_, image));
  if (!ended) {
    copying_ended_at_.reset();
    return false;
  }
  return Confirms(session_, image, view_);
}

/// Where there is something to mark. false: look again.
absl::StatusOr<bool> BecomePrimary::MarkFirst() {
  if (!record_->has_value() || (*record_)->step != RescueStep::kMarked) {
    return true;
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  // What came before may have taken long. An rbd-mirror that is back by now
  // would take the copy for complete, and copy on top of it.
  ADDONS_ASSIGN_OR_RETURN(const bool ended, CopyingHasEnded(session_));
  if (!ended) {
    copying_ended_at_.reset();
    return false;
  }
  marked_ = true;  // also where it is not known
  ADDONS_ASSIGN_OR_RETURN(marked_, rescue_.MarkCopy(&view_));
  return marked_;
}

absl::Status BecomePrimary::CallForced() {
  // rbd-mirror's new clients appear four seconds after it was blocklisted at
  // the earliest.
  constexpr std::chrono::seconds kStands{2};
  ADDONS_ASSIGN_OR_RETURN(const bool marked, MarkFirst());
  if (!marked) {
    overtaken_ = true;
    return absl::OkStatus();
  }
  const SteadyTime opened_at = context_.clock().Now();
  return ChangeImage(session_.volume, [&](Image& image) -> absl::Status {
    // The lease, too, is looked at once more.
    ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
    const SteadyTime checked_at = context_.clock().Now();
    ADDONS_ASSIGN_OR_RETURN(const bool holds, StillHolds(image, opened_at));
    if (!holds) {
      overtaken_ = true;
      return absl::OkStatus();
    }
    ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<EvictionWatchdog> watchdog,
                            EvictionWatchdog::Start(session_));
    ADDONS_RETURN_IF_ERROR(NotePoint(image));
    const absl::Status promoted =
        image.MirrorPromoteByForce(checked_at + kStands);
    // Time has passed on the way there.
    overtaken_ = CephErrno(promoted) == ECANCELED;
    ADDONS_RETURN_IF_ERROR(promoted);
    // At once, on the same handle: rbd-mirror is on its way back.
    ADDONS_ASSIGN_OR_RETURN(const std::vector<MirrorSnapshot> snapshots,
                            image.MirrorSnapshots());
    const uint64_t seen = view_.Newest() != nullptr ? view_.Newest()->id : 0;
    for (const uint64_t snapshot_id : HalfCopies(snapshots, *record_)) {
      // One that began since then is saved first: kSaveHalfCopy.
      if (snapshot_id > seen) continue;
      ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
    }
    ADDONS_RETURN_IF_ERROR(RemoveSnapshotsNotWhole(
        session_, image, UserSnapshotsWithoutCopy(view_),
        {"a snapshot whose name alone had arrived",
         "the name alone of a snapshot has arrived, it is not what it was on "
         "the other site"}));
    return ReadBackAndNote(image, Force::kYes);
  });
}

/// Before it becomes primary: who comes after a death in between must not take
/// for the point what had arrived last.
absl::Status BecomePrimary::NotePoint(Image& image) {
  const std::string& point = request_.parameters.restore_point;
  const auto noted = ReadRollbackMark(view_);
  if (point.empty() || (noted.has_value() && !noted->untouched)) {
    return absl::OkStatus();
  }
  RollbackMark mark;
  mark.point = point;
  mark.since = FormatUtc(absl::FromChrono(context_.clock().WallNow()));
  mark.of_promotion = true;
  mark.untouched = true;
  mark.whole_before = whole_before_;
  const std::string note = FormatRollbackMark(mark, view_);
  point_noted_ = true;  // also where it is not known
  ADDONS_RETURN_IF_ERROR(
      image.ChangeMetadataOfSecondary({{kRollbackKey, note}}));
  view_.marks[kRollbackKey] = note;
  return absl::OkStatus();
}

/// Of an image that has stayed a secondary.
absl::Status BecomePrimary::Unmark() {
  // First what must be over before rbd-mirror is back.
  absl::Status status =
      std::exchange(marked_, false) ? rescue_.TakeMarkBack() : absl::OkStatus();
  if (std::exchange(point_noted_, false)) {
    const auto remove = [](Image& image) -> absl::Status {
      return image.ChangeMetadataOfSecondary({{kRollbackKey, std::nullopt}});
    };
    status.Update(ChangeImage(session_.volume, remove));
  }
  return status;
}

absl::StatusOr<std::optional<MirrorView>> BecomePrimary::TryPromote(
    Force force) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  context_.Step(force == Force::kYes ? "promoting by force" : "promoting");
  context_.SetPending(absl::OkStatus());
  overtaken_ = false;
  read_back_.reset();
  const absl::Status promoted =
      force == Force::kYes ? CallForced() : CallPlain();
  if (overtaken_) {
    ADDONS_RETURN_IF_ERROR(Unmark());
    ADDONS_RETURN_IF_ERROR(RefuseAfterPatience());
    return std::nullopt;
  }
  environment_.series.ForgetPrimary(view_.timeline_key);

  // What counts is what is there now, not what the call said.
  if (!read_back_.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(read_back_, Look(session_));
  }
  MirrorView after = *std::exchange(read_back_, std::nullopt);
  if (!after.info.primary) {
    ADDONS_RETURN_IF_ERROR(Unmark());
    return AfterRefusal(promoted, force, after);
  }
  marked_ = false;
  point_noted_ = false;
  if (record_->has_value() && AwaitsRestore(**record_, after)) {
    ADDONS_RETURN_IF_ERROR(rescue_.Promoted(after));
  }
  return std::make_optional(std::move(after));
}

/// Of a promotion after which the image is not primary: nullopt, where it is to
/// be looked at again.
absl::StatusOr<std::optional<MirrorView>> BecomePrimary::AfterRefusal(
    const absl::Status& promoted, Force force, const MirrorView& after) {
  const int error = CephErrno(promoted);
  const bool busy = error == EBUSY || error == EROFS || error == EAGAIN;
  // The call was about another state than the look.
  const bool overtaken =
      error == EINVAL && !SameSnapshots(view_.snapshots, after.snapshots);
  if (!promoted.ok() && !busy && !overtaken) return promoted;

  // Nobody but a person gives that up.
  if (const std::string lock = LockTakenByHand(promoted); !lock.empty()) {
    return Refuse(lock);
  }

  const std::string reason =
      promoted.ok()
          ? "the image is not primary after a promotion that reported "
            "success"
      : overtaken ? "a snapshot has arrived during the promotion"
      : error == EAGAIN
          ? "somebody else has changed the image during the promotion"
          : "rbd-mirror still holds the image";
  const bool patience_left = context_.clock().Now() - *mutating_since_ <
                             environment_.options.promote_patience;
  const bool awaited =
      request_.force == Force::kYes || context_.LatestDeadline().has_value();
  // The demotion is here, so there is nothing to force but the lock.
  if (busy && force == Force::kNo && request_.force == Force::kYes &&
      !patience_left && !std::exchange(lock_forced_, true)) {
    mutating_since_ = context_.clock().Now();
    ADDONS_RETURN_IF_ERROR(EndCopyingFirst());
    return std::nullopt;
  }
  if (!patience_left || !awaited) {
    return Refuse(reason);
  }
  ADDONS_RETURN_IF_ERROR(wait_(reason));
  return std::nullopt;
}

}  // namespace addons
