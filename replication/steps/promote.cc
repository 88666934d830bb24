#include "replication/steps/promote.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "ceph/mirror_clients.h"
#include "ceph/pinned_options.h"
#include "replication/decide/promote.h"
#include "replication/look/move_marks.h"
#include "replication/look/peers.h"
#include "replication/look/record.h"
#include "replication/look/rescue_record.h"
#include "replication/look/role_log.h"
#include "replication/promotion_rest.h"
#include "replication/session.h"
#include "replication/steps/half_demotion.h"
#include "replication/steps/image_id.h"
#include "replication/steps/mirror_client_eviction.h"
#include "replication/steps/mirror_client_guard.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/mirror_snapshot.h"
#include "replication/steps/parent.h"
#include "replication/steps/promotion_cleanup.h"
#include "replication/steps/rescue.h"
#include "replication/steps/schedule_store.h"
#include "replication/steps/take_back.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

bool SameSnapshots(const std::vector<MirrorSnapshot>& one,
                   const std::vector<MirrorSnapshot>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const MirrorSnapshot& a, const MirrorSnapshot& b) {
                      return a.id == b.id && a.complete == b.complete &&
                             a.last_copied_object == b.last_copied_object;
                    });
}

/// One promotion of one volume, from the first look to the answer.
class Promotion {
 public:
  Promotion(const PromoteRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session),
        rescue_(session) {}

  absl::Status Run();

 private:
  absl::StatusOr<PromoteDecision> LookAndDecide();
  PromoteDecision Decide(const PromoteEvidence& seen,
                         const SiteNameFn& site_name) const;
  absl::StatusOr<SeriesClocks> ReadClocks(bool disturbed);
  void NoteRest(const PromoteDecision& decision);
  absl::Status Wait(const std::string& reason);
  /// nullopt: rbd-mirror has not let go of the image yet, look again.
  absl::StatusOr<std::optional<MirrorView>> TryPromote(Force force);
  absl::Status NeedRoom();
  absl::Status CallPlain();
  absl::Status CallForced();
  absl::Status WriteNotes(Image& image, Force force, MirrorView* view);
  std::optional<MirrorView> ReadBack(Image& image);
  absl::Status ReadBackAndNote(Image& image, Force force);
  absl::StatusOr<bool> StillHolds(Image& image, SteadyTime opened_at);
  absl::StatusOr<bool> PrepareForce(PromoteAction action);
  absl::Status PrepareRescue(PromoteAction action);
  absl::Status SaveHalfCopy(MirrorView* view);
  absl::Status FinishRescue(MirrorView* view);
  absl::Status EndCopyingFirst();
  absl::Status RefuseAfterPatience();
  bool LookIsFinal() const;
  absl::Status Finish(MirrorView view);
  absl::Status AwaitRelease(MirrorView* view);
  absl::Status AwaitFollowers(MirrorView* view);
  absl::Status Refuse(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const PromoteRequest& request_;
  Session& session_;
  Rescue rescue_;
  MirrorView view_;
  std::optional<RescueRecord> record_;  // of the rescue image
  SteadyTime looked_at_;                // at view_
  SeriesClocks clocks_;                 // likewise
  /// Since when nothing can be copied, which a look after that shows for good.
  std::optional<SteadyTime> copying_ended_at_;
  std::optional<SteadyTime> mutating_since_;
  bool took_back_ = false;  // this site's own demotion
  /// A forced promotion was not begun: what it rests on may not hold any more.
  bool overtaken_ = false;
  bool lock_forced_ = false;             // of an image that is promoted plainly
  std::optional<MirrorView> read_back_;  // through the handle that promoted
};

absl::StatusOr<PromoteDecision> Promotion::LookAndDecide() {
  NoteVersion(*session_.reads, &session_.memory.rest);
  looked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  session_.memory.rest.image_id =
      view_.info.mode == MirrorMode::kSnapshot ? view_.image_id : "";
  ADDONS_ASSIGN_OR_RETURN(
      record_, ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  PromoteEvidence seen{.view = view_, .rescue = record_};
  seen.disturbed = environment_.timeline.Disturbed(session_.cluster().fsid());
  if (request_.parameters.schedule.has_value()) {
    seen.interval = request_.parameters.schedule->interval;
  }
  // How long it has been so is asked where that keeps it from a promotion: no
  // clock ever does where the demotion is here and holds.
  if (NeedsClocks(view_, request_.force) &&
      Decide(seen, [](const std::string&) { return std::string(); }).action !=
          PromoteAction::kPlain) {
    ADDONS_ASSIGN_OR_RETURN(seen.clocks, ReadClocks(seen.disturbed));
    clocks_ = seen.clocks;
  }
  return Decide(seen, [this](const std::string& uuid) {
    return SiteName(*session_.reads, uuid);
  });
}

PromoteDecision Promotion::Decide(const PromoteEvidence& seen,
                                  const SiteNameFn& site_name) const {
  return DecidePromote(seen, request_.force, environment_.options, site_name);
}

absl::StatusOr<SeriesClocks> Promotion::ReadClocks(bool disturbed) {
  ADDONS_RETURN_IF_ERROR(environment_.series.List(
      session_.cluster(), *session_.reads, view_.pool_key));
  return environment_.series.Note(SeenInSeries(
      view_, session_.volume.rados_namespace, disturbed, environment_.options));
}

absl::Status Promotion::Refuse(absl::StatusCode code,
                               const std::string& reason) const {
  return FailedTo("promote", session_.volume, code, reason);
}

void Promotion::NoteRest(const PromoteDecision& decision) {
  PromotionRest& rest = session_.memory.rest;
  addons::NoteRest(session_, looked_at_, decision.reason,
                   Refuse(absl::StatusCode::kUnavailable, decision.reason),
                   &rest);
  if (decision.action == PromoteAction::kWait &&
      NeedsClocks(view_, request_.force)) {
    NoteSettled(environment_, view_, clocks_, &rest);
  }
}

absl::Status Promotion::Wait(const std::string& reason) {
  context_.Step(absl::StrCat("waiting: ", reason));
  absl::Status pending = Refuse(absl::StatusCode::kUnavailable, reason);
  context_.SetPending(pending);
  if (request_.answer_by.has_value() && !context_.mutating() &&
      context_.clock().Now() >= *request_.answer_by) {
    return pending;
  }
  if (const MirrorSnapshot* newest = view_.Newest();
      newest != nullptr && !newest->complete) {
    context_.Progress(newest->last_copied_object, view_.size.objects);
  }
  return context_.LookAgainAfter(environment_.options.poll_interval);
}

absl::Status Promotion::Run() {
  while (true) {
    if (PromotionRest& rest = session_.memory.rest;
        MayRest(context_, environment_, rest, session_.cluster(),
                *session_.reads)) {
      ADDONS_RETURN_IF_ERROR(Wait(rest.waits_for));
      continue;
    }
    if (!context_.mutating()) context_.Step("looking at both sites");
    ADDONS_ASSIGN_OR_RETURN(PromoteDecision decision, LookAndDecide());
    switch (decision.action) {
      case PromoteAction::kAlreadyPrimary:
        return Finish(std::move(view_));
      case PromoteAction::kRefuseOff:
      case PromoteAction::kRefusePeerTookBack:
      case PromoteAction::kRefusePeerPrimary:
      case PromoteAction::kRefuseNoLife:
      case PromoteAction::kNothingToForce:
        return Refuse(AnswerTo(decision.action, request_.scope),
                      decision.reason);
      case PromoteAction::kWaitForWorkload:
      case PromoteAction::kWaitForLocalMirror:
      case PromoteAction::kWait: {
        SetHalfDemotionGoingAside(session_, view_, &decision.reason);
        // An earlier try began to mutate, was refused by librbd, and by now the
        // other side looks different: nothing was changed, so just wait on.
        NoteRest(decision);
        ADDONS_RETURN_IF_ERROR(Wait(decision.reason));
        if (!mutating_since_.has_value()) break;
        if (context_.clock().Now() - *mutating_since_ >
            environment_.options.promote_patience) {
          return Refuse(absl::StatusCode::kUnavailable, decision.reason);
        }
        break;
      }
      case PromoteAction::kRescue:
      case PromoteAction::kForced: {
        ADDONS_RETURN_IF_ERROR(NeedRoom());
        ADDONS_ASSIGN_OR_RETURN(const bool ready,
                                PrepareForce(decision.action));
        if (!ready) break;
        ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorView> promoted,
                                TryPromote(Force::kYes));
        if (promoted.has_value()) {
          NoteRoleChange(session_, RoleName(view_), RoleName(*promoted),
                         ForcedPromotion(view_));
          WarnOfCloneLoss(session_, *promoted);
          return Finish(*std::move(promoted));
        }
        break;
      }
      case PromoteAction::kPlain: {
        ADDONS_RETURN_IF_ERROR(NeedRoom());
        ADDONS_RETURN_IF_ERROR(PrepareRescue(decision.action));
        took_back_ = view_.LastDemotionIsOwn();
        ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorView> promoted,
                                TryPromote(Force::kNo));
        if (promoted.has_value()) {
          NoteRoleChange(session_, RoleName(view_), RoleName(*promoted),
                         "promoted");
          return Finish(*std::move(promoted));
        }
        break;
      }
    }
  }
}

absl::Status Promotion::EndCopyingFirst() {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  ADDONS_RETURN_IF_ERROR(EndCopying(
      session_, view_.AnyFreshPeer(environment_.options.settle_time)));
  copying_ended_at_ = context_.clock().Now();
  return absl::OkStatus();
}

/// The last look was made after the copying had ended, just now. Whether nobody
/// has come back since is seen right before the promotion: StillHolds().
bool Promotion::LookIsFinal() const {
  constexpr std::chrono::seconds kFresh{3};
  return copying_ended_at_.has_value() && looked_at_ >= *copying_ended_at_ &&
         environment_.clock.Now() - looked_at_ <= kFresh;
}

/// Each try of a promotion that cannot begin looks again.
absl::Status Promotion::RefuseAfterPatience() {
  if (!mutating_since_.has_value() ||
      context_.clock().Now() - *mutating_since_ <=
          environment_.options.promote_patience) {
    return absl::OkStatus();
  }
  return Refuse(absl::StatusCode::kUnavailable,
                "rbd-mirror comes back again and again before the promotion "
                "can begin, or Ceph answers too slowly; repeat the call");
}

/// Everything that must be true for librbd's forced promotion. false: not yet,
/// look again.
absl::StatusOr<bool> Promotion::PrepareForce(PromoteAction action) {
  if (!LookIsFinal()) {
    ADDONS_RETURN_IF_ERROR(RefuseAfterPatience());
    ADDONS_RETURN_IF_ERROR(EndCopyingFirst());
    return false;
  }
  if (action == PromoteAction::kRescue && RescueSnapshot(view_) != nullptr) {
    ADDONS_ASSIGN_OR_RETURN(const bool saved, rescue_.Saved(view_));
    if (!saved) {
      ADDONS_RETURN_IF_ERROR(rescue_.Save(view_));
      // That took its time.
      mutating_since_ = context_.clock().Now();
      ADDONS_RETURN_IF_ERROR(EndCopyingFirst());
      return false;
    }
  }
  ADDONS_RETURN_IF_ERROR(PrepareRescue(action));
  return true;
}

/// A rescue image is the last complete state from here on, or it must not be
/// there any more: after this promotion it would be taken for that.
absl::Status Promotion::PrepareRescue(PromoteAction action) {
  if (action != PromoteAction::kRescue) {
    if (!record_.has_value()) return absl::OkStatus();
    if (!AwaitsRestore(*record_, view_)) {
      ADDONS_RETURN_IF_ERROR(rescue_.Remove());
      record_.reset();
      return absl::OkStatus();
    }
  }
  ADDONS_ASSIGN_OR_RETURN(record_, rescue_.BeginPromotion());
  return absl::OkStatus();
}

/// What began to arrive between the last look and librbd's promotion, which
/// does not know of it (as of half a demotion) or found it too late.
absl::Status Promotion::SaveHalfCopy(MirrorView* view) {
  if (UnsavedHalfCopy(*view, record_) == nullptr) return absl::OkStatus();
  ADDONS_ASSIGN_OR_RETURN(record_, rescue_.SaveHalfCopy(*view));
  ADDONS_ASSIGN_OR_RETURN(*view, Look(session_));
  return absl::OkStatus();
}

absl::Status Promotion::FinishRescue(MirrorView* view) {
  if (!record_.has_value()) return absl::OkStatus();
  if (!AwaitsRestore(*record_, *view)) return rescue_.Remove();
  ADDONS_RETURN_IF_ERROR(rescue_.Restore());
  ADDONS_ASSIGN_OR_RETURN(*view, Look(session_));
  return absl::OkStatus();
}

/// What a promotion notes on the handle that promoted: Finish() sees what is
/// missing, and would open the image for it. `view` shows the notes.
/// What is left of an earlier term goes: what shows that it is older is dropped
/// a few snapshots later.
absl::Status Promotion::WriteNotes(Image& image, Force force,
                                   MirrorView* view) {
  LocalRecord record = view->own;
  record.term.reset();
  record.first_copy_awaited = false;
  record.promoted_from.reset();
  // Of a promotion by force nothing shows that no other site went on.
  if (force == Force::kNo && view_.info.mode != MirrorMode::kJournal) {
    record.promoted_from = PromotedFrom(view_);
  }
  if (force == Force::kNo && took_back_) {
    // From now on the retry knows that nobody was told.
    record.demotion = OwnDemotionMark{OwnDemotionStep::kTakenBack};
    return WriteLocalRecord(image, record, view);
  }
  // A retry must not take this for a demotion that was taken back, and yield.
  record.demotion.reset();
  if (request_.parameters.schedule.has_value() &&
      view_.info.mode == MirrorMode::kSnapshot) {
    // Finish() tries it again.
    NoteSchedule(image, session_.volume, *request_.parameters.schedule,
                 request_.scope, view, &record)
        .IgnoreError();
  }
  ADDONS_RETURN_IF_ERROR(WriteLocalRecord(image, record, view));
  return RemoveRefusal(image, view);
}

/// The image as the handle that promoted shows it. That counts where it was
/// read after all that librbd has changed: the mark that refuses writes goes
/// last, and that a snapshot is complete is known from the cluster alone.
/// Otherwise (nullopt) the image is opened anew to see it.
std::optional<MirrorView> Promotion::ReadBack(Image& image) {
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
absl::Status Promotion::ReadBackAndNote(Image& image, Force force) {
  std::optional<MirrorView> seen = ReadBack(image);
  MirrorView view = seen.value_or(view_);
  ADDONS_RETURN_IF_ERROR(WriteNotes(image, force, &view));
  // Its note says more than `view` shows.
  if (seen.has_value() && !took_back_) read_back_ = std::move(view);
  return absl::OkStatus();
}

/// librbd answers 0 where a promotion makes no snapshot for want of room, and
/// leaves a copy that takes writes.
absl::Status Promotion::NeedRoom() {
  ADDONS_ASSIGN_OR_RETURN(const SnapshotRoom room,
                          ReadSnapshotRoom(*session_.reads, view_));
  if (room.For(1)) return absl::OkStatus();
  return Refuse(absl::StatusCode::kUnavailable,
                DescribeNoRoomForCopy(room, session_, view_));
}

absl::Status Promotion::CallPlain() {
  const MirrorClientGuard guard(session_.cluster(), *session_.reads,
                                environment_.timeline);
  return ChangeImage(session_.volume, [this](Image& image) -> absl::Status {
    ADDONS_RETURN_IF_ERROR(image.MirrorPromote(Force::kNo));
    return ReadBackAndNote(image, Force::kNo);
  });
}

/// Nobody can be copying, and the image is what the decision rests on, seen
/// through the handle that promotes: librbd goes by what that one knows.
absl::StatusOr<bool> Promotion::StillHolds(Image& image, SteadyTime opened_at) {
  // What a handle knows is from when it was opened, until somebody tells it.
  constexpr std::chrono::seconds kOpened{5};
  if (context_.clock().Now() - opened_at > kOpened) return false;
  ADDONS_ASSIGN_OR_RETURN(const bool ended, CopyingHasEnded(session_, image));
  if (!ended) {
    copying_ended_at_.reset();
    return false;
  }
  ADDONS_ASSIGN_OR_RETURN(const std::vector<MirrorSnapshot> snapshots,
                          image.MirrorSnapshots());
  return SameSnapshots(view_.snapshots, snapshots);
}

absl::Status Promotion::CallForced() {
  // rbd-mirror's new clients appear four seconds after it was blocklisted at
  // the earliest.
  constexpr std::chrono::seconds kStands{2};
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
    const absl::Status promoted =
        image.MirrorPromoteByForce(checked_at + kStands);
    // Time has passed on the way there.
    overtaken_ = CephErrno(promoted) == ECANCELED;
    ADDONS_RETURN_IF_ERROR(promoted);
    // At once, on the same handle: rbd-mirror is on its way back.
    ADDONS_ASSIGN_OR_RETURN(const std::vector<MirrorSnapshot> snapshots,
                            image.MirrorSnapshots());
    const uint64_t seen = view_.Newest() != nullptr ? view_.Newest()->id : 0;
    for (const uint64_t snapshot_id : HalfCopies(snapshots)) {
      // One that began since then is saved first: SaveHalfCopy().
      if (snapshot_id > seen) continue;
      ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
    }
    return ReadBackAndNote(image, Force::kYes);
  });
}

absl::StatusOr<std::optional<MirrorView>> Promotion::TryPromote(Force force) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  context_.Step(force == Force::kYes ? "promoting by force" : "promoting");
  context_.SetPending(absl::OkStatus());
  overtaken_ = false;
  read_back_.reset();
  absl::Status promoted = force == Force::kYes ? CallForced() : CallPlain();
  if (overtaken_) {
    ADDONS_RETURN_IF_ERROR(RefuseAfterPatience());
    return std::optional<MirrorView>();
  }
  environment_.series.ForgetPrimary(view_.timeline_key);

  // What counts is what is there now, not what the call said.
  if (!read_back_.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(read_back_, Look(session_));
  }
  MirrorView after = *std::exchange(read_back_, std::nullopt);
  if (after.info.primary) {
    if (record_.has_value() && AwaitsRestore(*record_, after)) {
      ADDONS_RETURN_IF_ERROR(rescue_.Promoted(after));
    }
    return std::make_optional(std::move(after));
  }
  const int error = CephErrno(promoted);
  const bool busy = error == EBUSY || error == EROFS || error == EAGAIN;
  // The call was about another state than the look.
  const bool overtaken =
      error == EINVAL && !SameSnapshots(view_.snapshots, after.snapshots);
  if (!promoted.ok() && !busy && !overtaken) return promoted;

  // Nobody but a person gives that up.
  if (const std::string lock = LockTakenByHand(promoted); !lock.empty()) {
    return Refuse(absl::StatusCode::kUnavailable, lock);
  }

  const std::string reason =
      promoted.ok()
          ? "the image is not primary after a promotion that reported "
            "success"
      : overtaken ? "a snapshot has arrived during the promotion"
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
    return std::optional<MirrorView>();
  }
  if (!patience_left || !awaited) {
    return Refuse(absl::StatusCode::kUnavailable, reason);
  }
  ADDONS_RETURN_IF_ERROR(Wait(reason));
  return std::optional<MirrorView>();
}

absl::Status Promotion::AwaitFollowers(MirrorView* view) {
  // A forced promotion that died may have left the note of an earlier demotion:
  // whoever forces this site again has decided about it.
  const auto& mark = view->own.demotion;
  const bool retried =
      mark.has_value() && !mutating_since_.has_value() &&
      (request_.force == Force::kNo || mark->step != OwnDemotionStep::kDemoted);
  if (!took_back_ && !retried) return absl::OkStatus();
  return TakeBack(session_).AwaitFollowers(
      request_.force,
      [this](const MirrorView& seen, const std::string& reason) {
        view_ = seen;
        return Wait(reason);
      },
      view);
}

/// In journal mode a promotion takes no lock. When the peer takes its own
/// demotion back at this moment, rbd-mirror of this site opens the image to
/// follow it, sees that it is not primary, and takes it over; a promotion here
/// in between is lost (seen, 16.2.15: both sites were told that they are
/// primary, and one was not any more). It opens the image before it looks at
/// the role, so where it does not have it open, and this site is primary after
/// that, it stays so. One that is stuck loses its watch after 30 s.
absl::Status Promotion::AwaitRelease(MirrorView* view) {
  // By force: the copying was ended before.
  if (request_.force == Force::kYes ||
      view->info.mode != MirrorMode::kJournal) {
    return absl::OkStatus();
  }
  const SteadyTime begin = context_.clock().Now();
  while (true) {
    // In this order.
    ADDONS_ASSIGN_OR_RETURN(const ImageClients clients, FindClients(session_));
    ADDONS_ASSIGN_OR_RETURN(*view, Look(session_));
    if (!view->info.primary) {
      return Refuse(absl::StatusCode::kUnavailable,
                    "this site was promoted and is not primary any more: "
                    "rbd-mirror has taken the role away again, for a site that "
                    "was promoted at the same moment, or somebody has demoted "
                    "it; start no workload here, and repeat the call");
    }
    const SteadyDuration open_for = environment_.timeline.HeldFor(
        view->timeline_key, Since::kOpenByMirror, clients.mirror ? "open" : "");
    // Another process has promoted it, or it was primary all along.
    const SteadyDuration primary_for = view->primary_for.value_or(open_for);
    if (!clients.mirror || primary_for >= environment_.options.settle_time) {
      return absl::OkStatus();
    }
    const std::string reason =
        "this site is primary, and rbd-mirror of this site still has the image "
        "open: until it lets go, it may take the role away again for a site "
        "that is promoted at the same moment; start no workload before (up to "
        "a minute)";
    if (!MayWaitOn(session_, begin)) {
      return Refuse(absl::StatusCode::kUnavailable, reason);
    }
    view_ = *view;
    ADDONS_RETURN_IF_ERROR(Wait(reason));
  }
}

absl::Status Promotion::Finish(MirrorView view) {
  ADDONS_RETURN_IF_ERROR(AwaitRelease(&view));
  ADDONS_RETURN_IF_ERROR(SaveHalfCopy(&view));
  ADDONS_RETURN_IF_ERROR(MakeWritable(session_, "promote", &view));
  ADDONS_RETURN_IF_ERROR(RemoveHalfCopies(session_, view));
  ADDONS_RETURN_IF_ERROR(FinishRescue(&view));
  ADDONS_RETURN_IF_ERROR(CompleteHalfDone(session_, &view));
  ADDONS_RETURN_IF_ERROR(AwaitFollowers(&view));
  ADDONS_RETURN_IF_ERROR(RemoveMarks(session_, &view));
  ADDONS_RETURN_IF_ERROR(RemoveStaleResyncRequest(session_, view));
  ADDONS_RETURN_IF_ERROR(CorrectImageId(session_, view.image_id).status());
  ADDONS_RETURN_IF_ERROR(RememberClone(session_, view));
  SweepSchedules(session_);
  if (!request_.parameters.schedule.has_value() ||
      view.info.mode != MirrorMode::kSnapshot) {
    return absl::OkStatus();
  }
  return KeepSchedule(session_, request_.target.user, view,
                      *request_.parameters.schedule, request_.scope);
}

}  // namespace

absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request) {
  const std::string& volume_id = request.target.volume_id.text();
  const CallMemory& seen = context.memory().Of<CallMemory>();
  ADDONS_RETURN_IF_ERROR(
      RestOn(context, environment, seen.rest,
             seen.answer_by.has_value() ? seen.answer_by : request.answer_by));
  // Where it waits at first, the lease is given back with the first wait.
  const SessionOptions options{.changes = LastRole::kSecondary};
  absl::Status status = RunWithSession(
      context, environment, request.target, "promote",
      [&](Session& session) {
        PromoteRequest timed = request;
        CallMemory& memory = session.memory;
        // The first answer shows what is waited for; later calls wait as long
        // as they may.
        if (!std::exchange(memory.begun, true) &&
            request.scope == VerbScope::kVolume &&
            request.force == Force::kNo &&
            environment.series.IsFirstCall(volume_id)) {
          memory.answer_by =
              context.clock().Now() + environment.options.first_answer;
        }
        if (memory.answer_by.has_value()) timed.answer_by = memory.answer_by;
        return Promotion(timed, session).Run();
      },
      options);
  if (status.ok()) environment.series.EndCalls(volume_id);
  return status;
}

}  // namespace addons
