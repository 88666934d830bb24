#include "replication/promote.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/errors.h"
#include "replication/image_id.h"
#include "replication/mirror_client_guard.h"
#include "replication/mirror_eviction.h"
#include "replication/mirror_schedule.h"
#include "replication/promote_decision.h"
#include "replication/rescue.h"
#include "replication/rescue_record.h"
#include "replication/session.h"

namespace addons {
namespace {

/// One promotion of one volume, from the first look to the answer.
class Promotion {
 public:
  Promotion(OperationContext& context, ReplicationEnvironment& environment,
            const PromoteRequest& request, Session& session)
      : context_(context),
        environment_(environment),
        request_(request),
        session_(session),
        rescue_(context, environment, session) {}

  absl::Status Run();

 private:
  absl::StatusOr<PromoteDecision> LookAndDecide();
  absl::Status Wait(const std::string& reason);
  /// nullopt: rbd-mirror has not let go of the image yet, look again.
  absl::StatusOr<std::optional<MirrorView>> TryPromote(Force force);
  absl::Status PrepareRescue(PromoteAction action);
  absl::Status FinishRescue(MirrorView* view);
  void EvictWhenDue(Force force);
  absl::Status Finish(MirrorView view);
  absl::Status CompleteHalfDone(MirrorView* view);
  absl::Status MakeWritable(MirrorView* view);
  absl::Status RemoveStaleResyncRequest();
  absl::Status Refuse(absl::StatusCode code, const std::string& reason) const;

  OperationContext& context_;
  ReplicationEnvironment& environment_;
  const PromoteRequest& request_;
  Session& session_;
  Rescue rescue_;
  MirrorView view_;
  std::optional<RescueRecord> record_;  // of the rescue image
  std::optional<MirrorView> first_look_;
  std::optional<SteadyTime> mutating_since_;
};

absl::StatusOr<PromoteDecision> Promotion::LookAndDecide() {
  ADDONS_ASSIGN_OR_RETURN(view_, Look(context_, environment_, session_));
  ADDONS_ASSIGN_OR_RETURN(
      record_, ReadRescueRecord(*session_.reads, session_.volume.image_name()));
  PromoteDecision decision = DecidePromote(
      view_, first_look_.has_value() ? &*first_look_ : nullptr, record_,
      request_.force, environment_.tracker.Disturbed(session_.cluster().fsid()),
      environment_.tracker, environment_.options,
      [this](const std::string& uuid) {
        return SiteName(*session_.reads, uuid);
      });
  if (!first_look_.has_value()) first_look_ = view_;
  return decision;
}

absl::Status Promotion::Refuse(absl::StatusCode code,
                               const std::string& reason) const {
  return FailedTo("promote", session_.volume, code, reason);
}

absl::Status Promotion::Wait(const std::string& reason) {
  context_.Step(absl::StrCat("waiting: ", reason));
  context_.SetPending(Refuse(absl::StatusCode::kUnavailable, reason));
  if (const MirrorSnapshot* newest = view_.Newest();
      newest != nullptr && !newest->complete) {
    context_.Progress(newest->last_copied_object, view_.size.objects);
  }
  return context_.SleepFor(environment_.options.poll_interval);
}

absl::Status Promotion::Run() {
  while (true) {
    if (!context_.mutating()) context_.Step("looking at both sites");
    ADDONS_ASSIGN_OR_RETURN(const PromoteDecision decision, LookAndDecide());
    switch (decision.action) {
      case PromoteAction::kRefuseOff:
        return Refuse(absl::StatusCode::kFailedPrecondition, decision.reason);
      case PromoteAction::kAlreadyPrimary:
        return Finish(std::move(view_));
      case PromoteAction::kRefusePeerPrimary:
      case PromoteAction::kRefuseNoLife:
        return Refuse(absl::StatusCode::kFailedPrecondition, decision.reason);
      case PromoteAction::kNothingToForce:
        return Refuse(absl::StatusCode::kUnavailable, decision.reason);
      case PromoteAction::kWait: {
        // An earlier try began to mutate, was refused by librbd, and by now the
        // other side looks different: nothing was changed, so just wait on.
        ADDONS_RETURN_IF_ERROR(Wait(decision.reason));
        if (!mutating_since_.has_value()) break;
        if (context_.clock().Now() - *mutating_since_ >
            environment_.options.promote_patience) {
          return Refuse(absl::StatusCode::kUnavailable, decision.reason);
        }
        break;
      }
      case PromoteAction::kRescue:
        if (!rescue_.Saved(view_) &&
            !(record_.has_value() && AwaitsRestore(*record_, view_))) {
          ADDONS_RETURN_IF_ERROR(rescue_.Save(view_));
          // That took its time, and a living copy is better.
          mutating_since_ = context_.clock().Now();
          break;
        }
        [[fallthrough]];
      case PromoteAction::kPlain:
      case PromoteAction::kForced: {
        const Force force =
            decision.action == PromoteAction::kPlain ? Force::kNo : Force::kYes;
        ADDONS_RETURN_IF_ERROR(PrepareRescue(decision.action));
        ADDONS_ASSIGN_OR_RETURN(std::optional<MirrorView> promoted,
                                TryPromote(force));
        if (promoted.has_value()) return Finish(*std::move(promoted));
        break;
      }
    }
  }
}

/// A rescue image is the last whole state from here on, or it must not be there
/// any more: after this promotion it would be taken for that.
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

absl::Status Promotion::FinishRescue(MirrorView* view) {
  if (!record_.has_value()) return absl::OkStatus();
  if (!AwaitsRestore(*record_, *view)) return rescue_.Remove();
  ADDONS_RETURN_IF_ERROR(rescue_.Restore());
  ADDONS_ASSIGN_OR_RETURN(*view, Look(context_, environment_, session_));
  return absl::OkStatus();
}

/// Of half a demotion librbd wants the lock at once, and an rbd-mirror that
/// hangs in a call to the dead site refuses it for ever.
void Promotion::EvictWhenDue(Force force) {
  if (force == Force::kNo ||
      context_.clock().Now() - *mutating_since_ < MirrorEviction::kPatience) {
    return;
  }
  const absl::Status evicted =
      EvictMirrorClients(session_.cluster(), *session_.reads,
                         std::string(session_.volume.image_name()));
  if (!evicted.ok()) {
    Log().warn("rbd-mirror holds the image and was not evicted volume={}: {}",
               Quoted(session_.volume.volume_id), evicted.ToString());
  }
}

absl::StatusOr<std::optional<MirrorView>> Promotion::TryPromote(Force force) {
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  if (!mutating_since_.has_value()) mutating_since_ = context_.clock().Now();
  context_.Step(force == Force::kYes ? "promoting by force" : "promoting");
  context_.SetPending(absl::OkStatus());
  absl::Status promoted;
  {
    const MirrorClientGuard guard(session_.cluster(), *session_.reads,
                                  environment_.tracker);
    std::optional<MirrorEviction> eviction;
    if (force == Force::kYes) {
      eviction.emplace(session_.cluster(), *session_.reads,
                       session_.volume.image_name());
    }
    promoted = ChangeImage(session_.volume, [&](Image& image) {
      return image.MirrorPromote(force);
    });
  }
  environment_.tracker.ForgetPeerPrimary(view_.tracker_key);

  // What counts is what is there now, not what the call said.
  ADDONS_ASSIGN_OR_RETURN(MirrorView after,
                          Look(context_, environment_, session_));
  if (after.info.primary) return std::make_optional(std::move(after));
  const int error = CephErrno(promoted);
  const bool busy = error == EBUSY || error == EROFS || error == EAGAIN;
  if (!promoted.ok() && !busy) return promoted;

  if (busy) EvictWhenDue(force);
  const std::string reason =
      promoted.ok()
          ? "the image is not primary after a promotion that reported "
            "success"
          : "rbd-mirror has not let go of the image yet";
  const bool patience_left = context_.clock().Now() - *mutating_since_ <
                             environment_.options.promote_patience;
  const bool awaited =
      force == Force::kYes || context_.LatestDeadline().has_value();
  if (!patience_left || !awaited) {
    return Refuse(absl::StatusCode::kUnavailable, reason);
  }
  ADDONS_RETURN_IF_ERROR(Wait(reason));
  return std::optional<MirrorView>();
}

absl::Status Promotion::CompleteHalfDone(MirrorView* view) {
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
  ADDONS_RETURN_IF_ERROR(context_.SleepFor(environment_.options.look_gap));
  ADDONS_ASSIGN_OR_RETURN(*view, Look(context_, environment_, session_));
  if (!half_done(*view) || view->Newest()->id != suspect) {
    return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("completing a half-done promotion");
  Log().warn("completing a half-done promotion volume={} snapshot={}",
             Quoted(session_.volume.volume_id), suspect);
  return ChangeImage(session_.volume, [](Image& image) {
    return image.CreateMirrorSnapshot().status();
  });
}

/// A crash inside librbd can leave a primary that still refuses all writes.
/// Demoting and promoting it again takes the mark away.
absl::Status Promotion::MakeWritable(MirrorView* view) {
  if (!view->marked_non_primary) return absl::OkStatus();
  // So does a promotion that another replica is just finishing.
  ADDONS_RETURN_IF_ERROR(context_.SleepFor(environment_.options.look_gap));
  ADDONS_ASSIGN_OR_RETURN(*view, Look(context_, environment_, session_));
  if (!view->info.primary || !view->marked_non_primary) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
  context_.Step("making a half-promoted image writable");
  Log().warn(
      "the image is primary but refuses writes; demoting and promoting "
      "it again volume={}",
      Quoted(session_.volume.volume_id));
  ADDONS_RETURN_IF_ERROR(ChangeImage(
      session_.volume, [](Image& image) { return image.MirrorDemote(); }));
  ADDONS_RETURN_IF_ERROR(ChangeImage(session_.volume, [](Image& image) {
    return image.MirrorPromote(Force::kNo);
  }));
  ADDONS_ASSIGN_OR_RETURN(*view, Look(context_, environment_, session_));
  if (view->info.primary && !view->marked_non_primary) return absl::OkStatus();
  return Refuse(absl::StatusCode::kUnavailable,
                "the image is primary but refuses writes; repeat the call");
}

absl::Status Promotion::RemoveStaleResyncRequest() {
  return ChangeImage(session_.volume, [](Image& image) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(const auto requests,
                            image.ListMetadata(kResyncKeyPrefix));
    for (const auto& [key, value] : requests) {
      if (!absl::StrContains(value, "resync_requested")) continue;
      ADDONS_RETURN_IF_ERROR(image.RemoveMetadata(key));
    }
    return absl::OkStatus();
  });
}

absl::Status Promotion::Finish(MirrorView view) {
  ADDONS_RETURN_IF_ERROR(MakeWritable(&view));
  ADDONS_RETURN_IF_ERROR(FinishRescue(&view));
  ADDONS_RETURN_IF_ERROR(CompleteHalfDone(&view));
  if (view.resync_requested) {
    // It would delete this image as soon as it is a secondary again.
    ADDONS_RETURN_IF_ERROR(context_.BeginMutation());
    ADDONS_RETURN_IF_ERROR(RemoveStaleResyncRequest());
  }
  ADDONS_RETURN_IF_ERROR(CorrectImageId(context_, session_, view.image_id));
  if (!request_.parameters.schedule.has_value() ||
      view.info.mode != MirrorMode::kSnapshot) {
    return absl::OkStatus();
  }
  return EnsureSchedule(context_, environment_.options, session_.cluster(),
                        session_.reads->ImageSpec(session_.volume.image_name()),
                        *request_.parameters.schedule);
}

}  // namespace

absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request) {
  return RunWithSession(
      context, environment, request.target, [&](Session& session) {
        return Promotion(context, environment, request, session).Run();
      });
}

}  // namespace addons
