#include "replication/steps/pause.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "replication/look/record.h"
#include "replication/schedule_store.h"
#include "replication/steps/health.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/primary_only.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

constexpr char kPauseAction[] = "pause mirror snapshots of";
constexpr char kResumeAction[] = "resume mirror snapshots of";
constexpr char kNoScheduleInJournalMode[] =
    "it is replicated in journal mode, where each write travels by itself and "
    "no schedule makes anything";

void AddMissing(const std::vector<SnapshotSchedule>& more,
                std::vector<SnapshotSchedule>* schedules) {
  for (const SnapshotSchedule& schedule : more) {
    // "0m" is nobody's.
    if (schedule.Runs() && std::find(schedules->begin(), schedules->end(),
                                     schedule) == schedules->end()) {
      schedules->push_back(schedule);
    }
  }
}

absl::Status WritePause(Session& session, MirrorView* view,
                        std::optional<SchedulePause> pause) {
  LocalRecord record = view->own;
  record.pause = std::move(pause);
  if (record == view->own) return absl::OkStatus();
  return ChangeImage(session.volume, [&](Image& image) {
    return WriteLocalRecord(image, record, view);
  });
}

/// What a newer version keeps is never written over.
absl::StatusOr<std::vector<SnapshotSchedule>> ReadKept(
    const SchedulePause& pause) {
  auto kept = ParseSchedules(pause.schedules);
  if (kept.has_value()) return *std::move(kept);
  return absl::UnavailableError(
      "the schedules that the pause keeps were written by a newer version; "
      "pause and resume with that one, or set a schedule with `rbd mirror "
      "snapshot schedule add`");
}

absl::Status TakeFromManager(Session& session,
                             const ReplicationOptions& options,
                             MirrorView* view) {
  const auto list = [&] {
    return ListSchedules(session.context, options, session.volume,
                         view->image_id);
  };
  ADDONS_ASSIGN_OR_RETURN(std::vector<SnapshotSchedule> present, list());
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("taking the mirror snapshot schedule from the manager");
  // What somebody has set meanwhile is not lost either.
  SchedulePause pause = *view->own.pause;
  ADDONS_ASSIGN_OR_RETURN(std::vector<SnapshotSchedule> kept, ReadKept(pause));
  const size_t known = kept.size();
  AddMissing(present, &kept);
  if (kept.size() != known) {
    pause.schedules = SchedulesText(kept);
    ADDONS_RETURN_IF_ERROR(WritePause(session, view, pause));
  }
  if (!present.empty()) {
    ADDONS_RETURN_IF_ERROR(
        DropSchedules(session.context, options, session.volume, present));
    ADDONS_ASSIGN_OR_RETURN(present, list());
  }
  if (!present.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "the manager still has the schedule ", EveryText(present.front()),
        ", or somebody sets one meanwhile; repeat the call"));
  }
  pause.step = PauseStep::kPaused;
  return WritePause(session, view, pause);
}

absl::Status PutBack(Session& session, const ReplicationOptions& options,
                     MirrorView* view) {
  ADDONS_ASSIGN_OR_RETURN(const std::vector<SnapshotSchedule> kept,
                          ReadKept(*view->own.pause));
  ADDONS_RETURN_IF_ERROR(AddSchedules(session.context, options, session.volume,
                                      view->image_id, kept));
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  return WritePause(session, view, std::nullopt);
}

PauseReport Paused(const SchedulePause& pause, bool changed) {
  PauseReport report;
  report.changed = changed;
  report.since = pause.since;
  report.schedules = EveryText(KeptSchedules(pause));
  report.message = absl::StrCat(changed ? "paused" : "it was paused already",
                                " since ", FormatUnixSeconds(pause.since),
                                "; kept: ", report.schedules);
  return report;
}

absl::Status CheckInherited(Session& session) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<SnapshotSchedule> inherited,
      ListInheritedSchedules(session.context, session.environment.options,
                             session.volume));
  if (inherited.empty()) return absl::OkStatus();
  return FailedTo(
      kPauseAction, session.volume, absl::StatusCode::kFailedPrecondition,
      absl::StrCat("a schedule of its namespace, its pool or the whole cluster "
                   "applies to it (",
                   EveryText(inherited),
                   "), and that cannot be paused for one volume; give the "
                   "volumes schedules of their own (schedulingInterval) and "
                   "remove that one, or pause all of them with `rbd mirror "
                   "snapshot schedule remove`"));
}

absl::StatusOr<PauseReport> Pause(Session& session) {
  OperationContext& context = session.context;
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookAtPrimary(session, kPauseAction, kNoScheduleInJournalMode));
  const ReplicationOptions& options = session.environment.options;
  ADDONS_RETURN_IF_ERROR(CheckInherited(session));
  ADDONS_ASSIGN_OR_RETURN(
      const std::vector<SnapshotSchedule> present,
      ListSchedules(context, options, session.volume, view.image_id));
  const std::optional<SchedulePause>& before = view.own.pause;
  if (before.has_value() && before->step == PauseStep::kPaused &&
      present.empty()) {
    return Paused(*before, false);
  }
  std::vector<SnapshotSchedule> kept;
  if (before.has_value()) {
    ADDONS_ASSIGN_OR_RETURN(kept, ReadKept(*before));
  }
  AddMissing(present, &kept);
  // The manager may have been away when it was asked for. Another one that runs
  // was set by hand since.
  if (const auto wanted = WantedSchedule(view);
      wanted.has_value() && kept.empty()) {
    AddMissing({*wanted}, &kept);
  }
  if (kept.empty()) {
    return FailedTo(kPauseAction, session.volume,
                    absl::StatusCode::kFailedPrecondition,
                    "it has no mirror snapshot schedule, so there is none to "
                    "pause");
  }
  SchedulePause pause;
  pause.since =
      before.has_value() && before->holds()
          ? before->since
          : absl::ToUnixSeconds(absl::FromChrono(context.clock().WallNow()));
  pause.schedules = SchedulesText(kept);
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("keeping the mirror snapshot schedule aside");
  ADDONS_RETURN_IF_ERROR(WritePause(session, &view, pause));
  ADDONS_RETURN_IF_ERROR(CarryOutPause(session, view, options));
  Log().info("mirror snapshots are paused volume={} kept={}",
             Quoted(session.volume.volume_id.text()), Quoted(EveryText(kept)));
  return Paused(pause, true);
}

absl::StatusOr<PauseReport> Resume(Session& session) {
  ADDONS_ASSIGN_OR_RETURN(
      MirrorView view,
      LookAtPrimary(session, kResumeAction, kNoScheduleInJournalMode));
  PauseReport report;
  if (!view.own.pause.has_value()) {
    report.message = "it is not paused; nothing was changed";
    return report;
  }
  SchedulePause pause = *view.own.pause;
  report.changed = true;
  report.schedules = EveryText(KeptSchedules(pause));
  report.message =
      absl::StrCat("resumed, paused since ", FormatUnixSeconds(pause.since),
                   "; put back: ", report.schedules);
  pause.step = PauseStep::kResuming;
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  session.context.Step("ending the pause of the mirror snapshot schedule");
  ADDONS_RETURN_IF_ERROR(WritePause(session, &view, pause));
  ADDONS_RETURN_IF_ERROR(
      CarryOutPause(session, view, session.environment.options));
  Log().info("mirror snapshots are resumed volume={} schedules={}",
             Quoted(session.volume.volume_id.text()), Quoted(report.schedules));
  return report;
}

}  // namespace

absl::Status CarryOutPause(Session& session, const MirrorView& view,
                           const ReplicationOptions& options) {
  MirrorView seen = view;
  switch (view.own.pause->step) {
    case PauseStep::kPausing:
      return TakeFromManager(session, options, &seen);
    case PauseStep::kResuming:
      return PutBack(session, options, &seen);
    case PauseStep::kPaused:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<PauseReport> PauseSchedules(OperationContext& context,
                                           ReplicationEnvironment& environment,
                                           const VolumeTarget& target) {
  return RunForResult<PauseReport>(context, environment, target, kPauseAction,
                                   &Pause);
}

absl::StatusOr<PauseReport> ResumeSchedules(OperationContext& context,
                                            ReplicationEnvironment& environment,
                                            const VolumeTarget& target) {
  return RunForResult<PauseReport>(context, environment, target, kResumeAction,
                                   &Resume);
}

}  // namespace addons
