#include "replication/steps/promote.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
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
#include "replication/run_steps.h"
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

/// One promotion of one volume, from the first look to the answer: RunSteps().
class Promotion {
 public:
  Promotion(const PromoteRequest& request, Session& session)
      : context_(session.context),
        environment_(session.environment),
        request_(request),
        session_(session),
        rescue_(session) {}

  absl::Status See();
  absl::StatusOr<Next> Judge();
  absl::Status Await(const Next& next);
  absl::Status Act(const Next& next);
  absl::Status Answer(const Next& next) const;

  Done done;

 private:
  PromoteSeen Seen(const SiteNameFn& site_name) const;
  absl::StatusOr<SeriesClocks> ReadClocks(bool disturbed);
  absl::Status WaitForPeer(const Next& next);
  absl::Status WaitAsPrimary(const Next& next);
  absl::Status Wait(const std::string& reason);
  // --- of a secondary
  absl::Status PromotePlainly();
  absl::Status PromoteByForce(Step step);
  /// Whether it was promoted, as view_ shows then; false: look again.
  absl::StatusOr<bool> TryPromote(Force force);
  absl::StatusOr<bool> AfterRefusal(const absl::Status& promoted, Force force,
                                    const MirrorView& after);
  absl::Status NeedRoom();
  absl::Status CallPlain();
  absl::Status CallForced();
  absl::Status WriteNotes(Image& image, Force force, MirrorView* view);
  std::optional<MirrorView> ReadBack(Image& image);
  absl::Status ReadBackAndNote(Image& image, Force force);
  absl::StatusOr<bool> StillHolds(Image& image, SteadyTime opened_at);
  absl::StatusOr<bool> PrepareForce(Step step);
  absl::Status PrepareRescue(Step step);
  absl::Status EndCopyingFirst();
  absl::Status RefuseAfterPatience();
  bool LookIsFinal() const;
  // --- of a primary
  absl::Status SeeRelease();
  absl::Status RestoreLastComplete();
  absl::Status RemoveRescue();
  absl::Status Yield(const std::string& reason);
  absl::Status ForgetDemotion();
  absl::Status KeepScheduleOfRequest();
  absl::Status Refuse(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const PromoteRequest& request_;
  Session& session_;
  Rescue rescue_;
  MirrorView view_;
  bool fresh_ = false;                  // view_ is a look after the last step
  std::optional<RescueRecord> record_;  // of the rescue image
  SteadyTime looked_at_;                // at view_
  SeriesClocks clocks_;                 // likewise
  bool was_primary_ = false;            // a look has shown that
  /// Since when nothing can be copied, which a look after that shows for good.
  std::optional<SteadyTime> copying_ended_at_;
  std::optional<SteadyTime> mutating_since_;
  bool took_back_ = false;  // this site's own demotion
  /// A forced promotion was not begun: what it rests on may not hold any more.
  bool overtaken_ = false;
  bool lock_forced_ = false;             // of an image that is promoted plainly
  std::optional<MirrorView> read_back_;  // through the handle that promoted
  std::optional<bool> open_by_mirror_;   // before view_
  SteadyDuration open_for_{0};
  bool awaits_release_ = false;  // the next look is SeeRelease()
  /// Of each wait of a primary: since when.
  std::map<Step, SteadyTime> waits_since_;
};

absl::Status Promotion::See() {
  if (std::exchange(fresh_, false)) return absl::OkStatus();
  // What a primary has left to do is no matter of the other site.
  if (was_primary_) {
    if (std::exchange(awaits_release_, false)) return SeeRelease();
    ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
    return absl::OkStatus();
  }
  PromotionRest& rest = session_.memory.rest;
  while (MayRest(context_, environment_, rest, session_.cluster(),
                 *session_.reads)) {
    ADDONS_RETURN_IF_ERROR(Wait(rest.waits_for));
  }
  if (!context_.mutating()) context_.Step("looking at both sites");
  NoteVersion(*session_.reads, &rest);
  looked_at_ = context_.clock().Now();
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  rest.image_id =
      view_.info.mode == MirrorMode::kSnapshot ? view_.image_id : "";
  ADDONS_ASSIGN_OR_RETURN(
      record_, ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  return absl::OkStatus();
}

PromoteSeen Promotion::Seen(const SiteNameFn& site_name) const {
  PromoteSeen seen{.view = view_,
                   .rescue = record_,
                   .options = environment_.options,
                   .site_name = site_name,
                   .force = request_.force,
                   .scope = request_.scope};
  seen.clocks = clocks_;
  seen.disturbed = environment_.timeline.Disturbed(session_.cluster().fsid());
  if (request_.parameters.schedule.has_value()) {
    seen.interval = request_.parameters.schedule->interval;
  }
  seen.journal_image_id = session_.volume.attributes.image_id;
  seen.open_by_mirror = open_by_mirror_;
  seen.open_for = open_for_;
  seen.was_primary = was_primary_;
  seen.begun = mutating_since_.has_value();
  seen.took_back = took_back_;
  seen.done = done;
  return seen;
}

absl::StatusOr<Next> Promotion::Judge() {
  was_primary_ |= view_.info.primary;
  clocks_ = SeriesClocks();
  // How long it has been so is asked where that keeps it from a promotion: no
  // clock ever does where the demotion is here and holds.
  if (NeedsClocks(view_, request_.force)) {
    const SiteNameFn no_names = [](const std::string&) {
      return std::string();
    };
    const PromoteSeen seen = Seen(no_names);
    if (DecidePromote(seen).step != Step::kPromote) {
      ADDONS_ASSIGN_OR_RETURN(clocks_, ReadClocks(seen.disturbed));
    }
  }
  const SiteNameFn names = [this](const std::string& uuid) {
    return SiteName(*session_.reads, uuid);
  };
  return DecidePromote(Seen(names));
}

absl::Status Promotion::Answer(const Next& next) const {
  return next.code == absl::StatusCode::kOk ? absl::OkStatus()
                                            : Refuse(next.code, next.reason);
}

absl::Status Promotion::Await(const Next& next) {
  return next.step == Step::kWait ? WaitForPeer(next) : WaitAsPrimary(next);
}

absl::Status Promotion::Act(const Next& next) {
  switch (next.step) {
    case Step::kPromote:
      return PromotePlainly();
    case Step::kPromoteByForce:
    case Step::kRescue:
      return PromoteByForce(next.step);
    case Step::kSeeRelease:
      fresh_ = true;
      return SeeRelease();
    case Step::kSaveHalfCopy: {
      // What began to arrive between the last look and librbd's promotion,
      // which does not know of it (as of half a demotion) or found it too late.
      ADDONS_ASSIGN_OR_RETURN(record_, rescue_.SaveHalfCopy(view_));
      return absl::OkStatus();
    }
    case Step::kMakeWritable:
      fresh_ = true;
      return MakeWritable(session_, "promote", &view_);
    case Step::kRemoveHalfCopies:
      return RemoveHalfCopies(session_, view_);
    case Step::kRestore:
      return RestoreLastComplete();
    case Step::kRemoveRescue:
      return RemoveRescue();
    case Step::kCompleteSnapshot:
      return CompleteHalfDone(session_, &view_);
    case Step::kYield:
      return Yield(next.reason);
    case Step::kForgetDemotion:
      return ForgetDemotion();
    case Step::kForgetResync:
      fresh_ = true;
      return RemoveStaleResyncRequest(session_, &view_);
    case Step::kCorrectImageId:
      fresh_ = true;
      return CorrectImageId(session_, view_.image_id).status();
    case Step::kRememberClone:
      fresh_ = true;
      return RememberClone(session_, &view_);
    case Step::kKeepSchedule:
      return KeepScheduleOfRequest();
    default:
      return NoSuchStep();
  }
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

/// Of a secondary.
absl::Status Promotion::WaitForPeer(const Next& next) {
  std::string reason = next.reason;
  SetHalfDemotionGoingAside(session_, view_, &reason);
  PromotionRest& rest = session_.memory.rest;
  NoteRest(session_, looked_at_, reason, Refuse(next.code, reason), &rest);
  // A refused demotion counts for a time that no report tells.
  if (NeedsClocks(view_, request_.force) && !RefusalStands(view_)) {
    NoteSettled(environment_, view_, clocks_, &rest);
  }
  ADDONS_RETURN_IF_ERROR(Wait(reason));
  // An earlier try began to mutate, was refused by librbd, and by now the
  // other side looks different: nothing was changed, so just wait on.
  if (mutating_since_.has_value() &&
      context_.clock().Now() - *mutating_since_ >
          environment_.options.promote_patience) {
    return Refuse(next.code, reason);
  }
  return absl::OkStatus();
}

/// Nobody is to start a workload before.
absl::Status Promotion::WaitAsPrimary(const Next& next) {
  const SteadyTime since =
      waits_since_.try_emplace(next.step, context_.clock().Now()).first->second;
  if (!MayWaitOn(session_, since)) return Refuse(next.code, next.reason);
  awaits_release_ = next.step == Step::kAwaitRelease;
  return Wait(next.reason);
}

absl::Status Promotion::PromotePlainly() {
  ADDONS_RETURN_IF_ERROR(NeedRoom());
  ADDONS_RETURN_IF_ERROR(PrepareRescue(Step::kPromote));
  took_back_ = view_.LastDemotionIsOwn();
  const std::string role_before(RoleName(view_));
  ADDONS_ASSIGN_OR_RETURN(const bool promoted, TryPromote(Force::kNo));
  if (promoted) {
    NoteRoleChange(session_, role_before, RoleName(view_), "promoted");
  }
  return absl::OkStatus();
}

absl::Status Promotion::PromoteByForce(Step step) {
  ADDONS_RETURN_IF_ERROR(NeedRoom());
  ADDONS_ASSIGN_OR_RETURN(const bool ready, PrepareForce(step));
  if (!ready) return absl::OkStatus();
  const std::string role_before(RoleName(view_));
  const std::string by(ForcedPromotion(view_));
  ADDONS_ASSIGN_OR_RETURN(const bool promoted, TryPromote(Force::kYes));
  if (promoted) {
    NoteRoleChange(session_, role_before, RoleName(view_), by);
    WarnOfCloneLoss(session_, view_);
  }
  return absl::OkStatus();
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
absl::StatusOr<bool> Promotion::PrepareForce(Step step) {
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
absl::Status Promotion::PrepareRescue(Step step) {
  if (step != Step::kRescue) {
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

/// What a promotion notes on the handle that promoted: the table sees what is
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
    // KeepScheduleOfRequest() tries it again.
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
      // One that began since then is saved first: kSaveHalfCopy.
      if (snapshot_id > seen) continue;
      ADDONS_RETURN_IF_ERROR(image.RemoveSnapshot(snapshot_id));
    }
    return ReadBackAndNote(image, Force::kYes);
  });
}

absl::StatusOr<bool> Promotion::TryPromote(Force force) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  context_.Step(force == Force::kYes ? "promoting by force" : "promoting");
  context_.SetPending(absl::OkStatus());
  overtaken_ = false;
  read_back_.reset();
  const absl::Status promoted =
      force == Force::kYes ? CallForced() : CallPlain();
  if (overtaken_) {
    ADDONS_RETURN_IF_ERROR(RefuseAfterPatience());
    return false;
  }
  environment_.series.ForgetPrimary(view_.timeline_key);

  // What counts is what is there now, not what the call said.
  if (!read_back_.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(read_back_, Look(session_));
  }
  MirrorView after = *std::exchange(read_back_, std::nullopt);
  if (!after.info.primary) return AfterRefusal(promoted, force, after);
  if (record_.has_value() && AwaitsRestore(*record_, after)) {
    ADDONS_RETURN_IF_ERROR(rescue_.Promoted(after));
  }
  view_ = std::move(after);
  fresh_ = true;
  return true;
}

/// Of a promotion after which the image is not primary: false, where it is to
/// be looked at again.
absl::StatusOr<bool> Promotion::AfterRefusal(const absl::Status& promoted,
                                             Force force,
                                             const MirrorView& after) {
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
    return false;
  }
  if (!patience_left || !awaited) {
    return Refuse(absl::StatusCode::kUnavailable, reason);
  }
  ADDONS_RETURN_IF_ERROR(Wait(reason));
  return false;
}

/// In journal mode a promotion takes no lock. When the peer takes its own
/// demotion back at this moment, rbd-mirror of this site opens the image to
/// follow it, sees that it is not primary, and takes it over; a promotion here
/// in between is lost (seen, 16.2.15: both sites were told that they are
/// primary, and one was not any more). It opens the image before it looks at
/// the role, so where it does not have it open, and this site is primary after
/// that, it stays so. One that is stuck loses its watch after 30 s.
absl::Status Promotion::SeeRelease() {
  // In this order.
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients, FindClients(session_));
  ADDONS_ASSIGN_OR_RETURN(view_, Look(session_));
  open_by_mirror_ = clients.mirror;
  open_for_ = environment_.timeline.HeldFor(
      view_.timeline_key, Since::kOpenByMirror,
      clients.mirror && view_.info.primary ? "open" : "");
  return absl::OkStatus();
}

absl::Status Promotion::RestoreLastComplete() {
  ADDONS_RETURN_IF_ERROR(rescue_.Restore());
  record_.reset();
  return absl::OkStatus();
}

absl::Status Promotion::RemoveRescue() {
  ADDONS_RETURN_IF_ERROR(rescue_.Remove());
  record_.reset();
  fresh_ = true;
  return absl::OkStatus();
}

/// Nobody was told that this site is primary, so it is demoted again, unless a
/// workload has begun all the same.
absl::Status Promotion::Yield(const std::string& reason) {
  const auto refuse = [&](absl::string_view end) {
    return Refuse(absl::StatusCode::kUnavailable, absl::StrCat(reason, end));
  };
  ADDONS_ASSIGN_OR_RETURN(const ImageClients clients, FindClients(session_));
  if (!clients.workloads.empty()) {
    return refuse(absl::StrCat(
        ", and this site cannot give the role back, because the image is in "
        "use by ",
        DescribeWatchers(clients.workloads)));
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginCorrection());
  context_.Step("demoting again");
  Log().warn("{}; this site is demoted again volume={}", reason,
             Quoted(session_.volume.volume_id.text()));
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [&](Image& opened) {
    // Before it, because nothing can be written to a secondary.
    MirrorView written = view_;
    LocalRecord record = view_.own;
    record.demotion = OwnDemotionMark{OwnDemotionStep::kGivenBack};
    // One that was given back before may have been promoted by another program.
    record.demotion->told_nobody = ToldNobody(view_);
    const absl::Status noted = WriteLocalRecord(opened, record, &written);
    return noted.ok() ? opened.MirrorDemote() : noted;
  }));
  ADDONS_ASSIGN_OR_RETURN(const MirrorView after, Look(session_));
  if (!after.info.primary) {
    NoteRoleChange(session_, "primary", RoleName(after),
                   absl::StrCat("demoted again: ", reason));
  }
  return refuse("; this site has given the role back");
}

absl::Status Promotion::ForgetDemotion() {
  const SiteNameFn names = [this](const std::string& uuid) {
    return SiteName(*session_.reads, uuid);
  };
  const auto followers = FollowersOf(Seen(names));
  if (followers.has_value() && followers->state != FollowerState::kFollow) {
    Log().warn(
        "this site has taken its own demotion back by force, without waiting "
        "until {} follows it; if that site is promoted now, both are primary "
        "volume={}",
        names(followers->peer), Quoted(session_.volume.volume_id.text()));
  }
  context_.SetPending(absl::OkStatus());
  fresh_ = true;
  return RemoveMarks(session_, &view_);
}

absl::Status Promotion::KeepScheduleOfRequest() {
  fresh_ = true;
  SweepSchedules(session_);
  if (!request_.parameters.schedule.has_value() ||
      view_.info.mode != MirrorMode::kSnapshot) {
    return absl::OkStatus();
  }
  return KeepSchedule(session_, request_.target.user, view_,
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
        Promotion promotion(timed, session);
        return RunSteps(promotion);
      },
      options);
  if (status.ok()) environment.series.EndCalls(volume_id);
  return status;
}

}  // namespace addons
