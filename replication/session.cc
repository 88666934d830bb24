#include "replication/session.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/utc.h"
#include "ceph/errors.h"
#include "ceph/pinned_options.h"
#include "ceph/retry_when_blocklisted.h"
#include "replication/image_clients.h"
#include "replication/look/mirrored_clone.h"
#include "replication/look/role_turn.h"
#include "volume/missing_image.h"
#include "volume/patience.h"

namespace addons {
namespace {

absl::StatusOr<std::unique_ptr<Image>> OpenForChange(
    const ResolvedVolume& volume) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kMutate));
  return pool->OpenImage(volume.image_name());
}

absl::Status RunOnce(LeasedContext& context,
                     ReplicationEnvironment& environment,
                     const VolumeTarget& target, const SessionWork& work,
                     const SessionOptions& options, CallMemory& memory) {
  context.Step("finding the volume");
  auto opened = OpenVolume(environment, target, Access::kMutate,
                           ResolveDeadline(context));
  // It was there a moment ago: that it is gone is for the next call to say.
  if (absl::IsNotFound(opened.status()) && memory.found) {
    return absl::UnavailableError(opened.status().message());
  }
  ADDONS_RETURN_IF_ERROR(opened.status());
  memory.found = true;
  Session session{*std::move(opened), context, environment, memory};
  context.Aim(LeaseOf(session.volume, options.although_full));
  const std::optional<LastRole> changes = options.changes;
  if (changes.has_value() && !std::exchange(memory.tried_lease_first, true) &&
      environment.last_roles.Of(session.volume).value_or(*changes) ==
          *changes) {
    context.TakeIfFree();
  }
  const absl::Status status = work(session);
  // ENOENT of a single call is not about the volume, which was found.
  return CephErrno(status) == ENOENT ? AfterResolve(status, session.volume)
                                     : status;
}

/// What was seen of the session's image, or that it is missing.
absl::StatusOr<MirrorView> Noted(const Session& session,
                                 absl::StatusOr<MirrorView> view) {
  if (view.ok()) {
    session.memory.reports.Note(&*view);
    NoteLook(session.environment, session, *view);
  }
  if (!absl::IsNotFound(view.status())) return view;
  if (session.context.mutating()) {
    return AfterResolve(view.status(), session.volume);
  }
  return ImageMissing(session.volume);
}

/// How long `look` has been seen; `known` is told.
SteadyDuration SeenFor(std::string look, SteadyTime now,
                       std::optional<SameFor>* known) {
  if (!known->has_value() || (*known)->look != look) {
    *known = SameFor{std::move(look), now};
  }
  return now - (*known)->since;
}

}  // namespace

std::string LooksLike(const MirrorView& view) {
  return absl::StrCat(view.image_id, "/", view.snapshots.size());
}

SteadyDuration UnchangedFor(const MirrorView& view, SteadyTime now,
                            std::optional<SameFor>* known) {
  return SeenFor(LooksLike(view), now, known);
}

SteadyTime ResolveDeadline(OperationContext& context) {
  return context.DeadlineWithin(kFindPatience);
}

absl::StatusOr<OpenedVolume> OpenVolume(ReplicationEnvironment& environment,
                                        const VolumeTarget& target,
                                        Access access, SteadyTime deadline) {
  OpenedVolume opened;
  ADDONS_ASSIGN_OR_RETURN(
      opened.volume, environment.resolver.Resolve(target.volume_id, target.user,
                                                  access, deadline));
  if (!target.fsid.empty() && opened.cluster().fsid() != target.fsid) {
    return absl::UnavailableError(absl::StrCat(
        opened.volume.Describe(), " was found on cluster '",
        opened.volume.cluster_id.text(),
        "', which is not the one that is meant (fsid ", target.fsid,
        "); start the daemon with --site-clusters, so that only this site's "
        "cluster is looked at"));
  }
  auto pool = opened.volume.OpenPool(Access::kRead);
  if (!pool.ok()) return AfterResolve(pool.status(), opened.volume);
  opened.reads = *std::move(pool);
  opened.user = target.user;
  if (access == Access::kMutate) {
    environment.history.Locate(target.volume_id.text(), opened.volume,
                               opened.volume.ImageSpec());
  }
  return opened;
}

absl::Status RunWithSession(OperationContext& context,
                            ReplicationEnvironment& environment,
                            const VolumeTarget& target, const std::string& verb,
                            const SessionWork& work,
                            const SessionOptions& options) {
  return RetryWhenBlocklisted(
      [&] {
        absl::Status status = RunLeased(
            context, environment.leases, verb,
            [&](LeasedContext& leased) {
              return RunOnce(leased, environment, target, work, options,
                             context.memory().Of<CallMemory>());
            },
            options.waits);
        if (!RunsAgain(status)) context.memory().Forget<CallMemory>();
        return status;
      },
      [&] { return !context.mutating(); });
}

absl::Status ChangeImage(const ResolvedVolume& volume,
                         const std::function<absl::Status(Image&)>& change) {
  const auto run = [&]() -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(
        const std::unique_ptr<Image> image,
        RetryWhenBlocklisted([&] { return OpenForChange(volume); }));
    const absl::Status changed = change(*image);
    const absl::Status closed = image->Close();
    return changed.ok() ? closed : changed;
  };
  return AfterResolve(run(), volume);
}

absl::Status WhileBusy(const Session& session,
                       const std::function<absl::Status()>& change,
                       absl::Status* changed) {
  OperationContext& context = session.context;
  const ReplicationOptions& options = session.environment.options;
  const SteadyTime patience = context.clock().Now() + options.watch_timeout;
  *changed = change();
  while (CephErrno(*changed) == EBUSY && context.clock().Now() < patience) {
    ADDONS_RETURN_IF_ERROR(context.SleepFor(options.poll_interval));
    *changed = change();
  }
  return absl::OkStatus();
}

absl::Status RemoveSnapshotsNotWhole(const Session& session, Image& image,
                                     const std::vector<uint64_t>& ids,
                                     const NotWholeWords& words) {
  const std::string volume = Quoted(session.volume.volume_id.text());
  for (const uint64_t id : ids) {
    absl::Status removed;
    ADDONS_RETURN_IF_ERROR(WhileBusy(
        session, [&image, id] { return image.RemoveSnapshot(id); }, &removed));
    if (CephErrno(removed) == EBUSY) {
      Log().error(
          "{}, and was not removed; remove it by hand volume={} snapshot={}: "
          "{}",
          words.stays, volume, id, Quoted(removed.message()));
      continue;
    }
    ADDONS_RETURN_IF_ERROR(removed);
    Log().warn("{} was removed volume={} snapshot={}", words.removed, volume,
               id);
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageClients> FindClients(const Session& session, Image& image) {
  return FindClients(session, session.environment.leases, image);
}

absl::StatusOr<ImageClients> FindClients(const Session& session,
                                         const std::string& image_id) {
  auto clients = FindClients(session, session.environment.leases, image_id);
  if (!clients.ok()) return AfterResolve(clients.status(), session.volume);
  return clients;
}

void NoteLook(ReplicationEnvironment& environment, const OpenedVolume& opened,
              const MirrorView& view) {
  if (environment.last_roles.Note(opened.volume, view)) {
    environment.watched.NoteChange(opened.volume.cluster_id.text());
  }
  if (!view.enabled()) return;
  environment.watched.Note(opened.volume, view.image_id, opened.user,
                           CloneStateOf(view) != CloneState::kWhole, view.claim,
                           SeenRoleOf(view));
}

absl::StatusOr<MirrorView> Look(const Session& session) {
  if (session.memory.opens_to_look) return LookOpened(session, nullptr);
  return Noted(session, LookWithoutOpening(session.volume, *session.reads,
                                           session.environment.timeline));
}

absl::StatusOr<MirrorView> LookOpened(const Session& session,
                                      const AlsoRead& also) {
  return Noted(session, LookAt(session.volume, *session.reads,
                               session.environment.timeline, also));
}

absl::StatusOr<MirrorView> Look(const Session& session, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(MirrorView view,
                          LookAt(session.volume, *session.reads, image, nullptr,
                                 session.environment.timeline));
  session.memory.reports.Note(&view);
  NoteLook(session.environment, session, view);
  return view;
}

absl::StatusOr<bool> Confirms(const Session& session, Image& image,
                              const MirrorView& view) {
  ADDONS_ASSIGN_OR_RETURN(const std::string image_id, image.Id());
  ADDONS_ASSIGN_OR_RETURN(const MirrorImageInfo info, image.MirrorInfo());
  bool same = image_id == view.image_id && info.state == view.info.state;
  if (same && info.state != MirrorImageState::kDisabled) {
    ADDONS_ASSIGN_OR_RETURN(std::vector<MirrorSnapshot> snapshots,
                            image.MirrorSnapshots());
    for (MirrorSnapshot& snapshot : snapshots) {
      if (snapshot.id == view.marked_complete_id) snapshot.complete = false;
    }
    same = info.mode == view.info.mode && info.primary == view.info.primary &&
           info.global_id == view.info.global_id &&
           SameSnapshots(view.snapshots, snapshots);
  }
  if (!same) session.memory.opens_to_look = true;
  return same;
}

absl::StatusOr<bool> ChangeAsSeen(
    const Session& session, const MirrorView& view,
    const std::function<absl::Status(Image&)>& change) {
  bool confirmed = false;
  const auto run = [&](Image& image) -> absl::Status {
    ADDONS_ASSIGN_OR_RETURN(confirmed, Confirms(session, image, view));
    return confirmed ? change(image) : absl::OkStatus();
  };
  ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, run));
  return confirmed;
}

void NoteRoleChange(const Session& session, std::optional<RoleChange> change,
                    absl::string_view from, absl::string_view to,
                    absl::string_view by) {
  if (change.has_value()) {
    session.environment.role_changes.Count(change->verb, change->force);
  }
  LogRoleChange(session.volume, from, to, by);
  HistoryEvent event;
  event.object = session.volume.volume_id.text();
  event.from = std::string(from);
  event.to = std::string(to);
  event.text = std::string(by);
  session.environment.history.Add(std::move(event));
}

absl::Status RefuseLockTakenByHand(absl::string_view action,
                                   const ResolvedVolume& volume, Image& image) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Locker> lockers, image.Lockers());
  const std::string lock = LockTakenByHand(lockers);
  return lock.empty()
             ? absl::OkStatus()
             : FailedTo(action, volume, absl::StatusCode::kUnavailable, lock);
}

absl::Status FailedTo(absl::string_view action, const ResolvedVolume& volume,
                      absl::StatusCode code, absl::string_view reason) {
  return absl::Status(code, absl::StrCat("Failed to ", action, " ",
                                         volume.Describe(), ": ", reason));
}

void TellWait(const Session& session, absl::string_view what,
              std::optional<SteadyTime> until, absl::string_view then) {
  OperationContext& context = session.context;
  context.Step(what);
  if (context.mutating()) return;
  const SteadyTime now = context.clock().Now();
  const auto moment = [&](SteadyTime at) {
    return FormatUtcTimeOfDay(
        absl::FromChrono(context.clock().WallNow() + (at - now)));
  };
  const SteadyDuration held =
      SeenFor(std::string(what), now, &session.memory.waiting);
  std::string clock = absl::StrCat(what, ", since ", moment(now - held));
  const std::optional<SteadyTime> deadline = context.LatestDeadline();
  if (!until.has_value() || (deadline.has_value() && *deadline < *until)) {
    until = deadline;
    then = kCallIsAnswered;
  }
  // A time of day says nothing of another day.
  if (until.has_value() && *until - now < std::chrono::hours(12)) {
    absl::StrAppend(&clock, "; ", then, " at about ", moment(*until),
                    " if nothing changes");
  }
  context.TellClock(clock);
}

absl::Status WaitToLookAgain(const Session& session, absl::string_view reason,
                             const absl::Status& pending) {
  OperationContext& context = session.context;
  TellWait(session, absl::StrCat("waiting: ", reason));
  context.SetPending(pending);
  if (context.mutating() && !context.LatestDeadline().has_value()) {
    return pending;
  }
  return context.LookAgainAfter(session.environment.options.poll_interval);
}

bool MayWaitOn(const Session& session, SteadyTime begin) {
  OperationContext& context = session.context;
  return !context.mutating() || (context.LatestDeadline().has_value() &&
                                 context.clock().Now() - begin <
                                     session.environment.options.first_answer);
}

}  // namespace addons
