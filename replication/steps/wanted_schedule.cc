// The schedule that a promotion asked for, and where it is noted:
// replication/steps/mirror_schedule.h
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "replication/look/record.h"
#include "replication/schedule_store.h"
#include "replication/steps/mirror_schedule.h"
#include "replication/steps/pause.h"
#include "replication/steps/write_record.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr char kGlobalId[] = "global_id";

std::optional<SnapshotSchedule> NotedSchedule(const json& value) {
  auto schedule = ParseSchedule(value);
  if (!schedule.ok()) return std::nullopt;
  // Earlier versions wrote it down as it was given.
  TellInUtc(&*schedule);
  return *std::move(schedule);
}

/// What a mark that travels, under `key`, holds.
std::optional<SnapshotSchedule> MarkedSchedule(
    const std::map<std::string, std::string>& metadata,
    const std::string& global_id, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return std::nullopt;
  const json mark = ParseJson(found->second);
  // One of an earlier enabling is not wanted any more.
  if (!mark.is_object() || !mark.contains(kGlobalId) ||
      mark[kGlobalId] != global_id) {
    return std::nullopt;
  }
  return NotedSchedule(mark);
}

std::optional<SnapshotSchedule> MarkedSchedule(const MirrorView& view,
                                               const char* key) {
  return MarkedSchedule(view.marks, view.info.global_id, key);
}

/// Counts for this enabling, on both sites.
std::string MarkOf(const SnapshotSchedule& schedule,
                   const std::string& global_id) {
  json mark = ScheduleJson(schedule);
  mark[kGlobalId] = global_id;
  return JsonText(mark);
}

/// A pause keeps `wanted` alone, or there is none.
bool KeptAs(const std::optional<SchedulePause>& pause,
            const SnapshotSchedule& wanted) {
  return !pause.has_value() ||
         (pause->holds() &&
          KeptSchedules(*pause) == std::vector<SnapshotSchedule>{wanted});
}

/// A manager that does not answer keeps no promotion from OK: what it is to be
/// told is remembered.
absl::Status UnlessSilent(const Session& session, const CephUserRef& user,
                          absl::Status set) {
  if (!absl::IsUnavailable(set) || SaysLookAgain(set)) return set;
  // A lease that was lost meanwhile is no silence of the manager.
  if (session.context.mutating()) {
    ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  }
  const bool remembered =
      session.environment.due_schedules.Add(session.volume.volume_id, user);
  Log().warn(
      "the image is primary, but its mirror snapshot schedule is not set yet, "
      "{} volume={}: {}",
      remembered ? "which is tried again and again"
                 : "and too many others are not either: it is set when "
                   "replication info is asked for",
      Quoted(session.volume.volume_id.text()), Quoted(set.message()));
  return absl::OkStatus();
}

/// The options for an image that is primary already.
ReplicationOptions Impatient(const Session& session) {
  ReplicationOptions options = session.environment.options;
  options.mgr_patience = options.schedule_patience;
  return options;
}

/// What there is to write down before a schedule is set.
struct NotesOfSchedule {
  NotesOfSchedule(const ResolvedVolume& volume, const MirrorView& view,
                  const SnapshotSchedule& wanted, VerbScope by) {
    const std::optional<SnapshotSchedule> before = WantedSchedule(view);
    const bool is_own = view.marks.contains(kOwnScheduleMark);
    const bool changes = before != wanted;
    tell = MarkedSchedule(view, kScheduleMark) != wanted;
    write = changes || tell || !KeptAs(view.own.pause, wanted);
    // That of a volume that was mirrored before its group asked for another
    // one.
    save_own = by == VerbScope::kGroupMember && before.has_value() && changes &&
               !is_own && !MirroredForGroup(view, volume);
    forget_own = by == VerbScope::kVolume && is_own;
  }
  bool write = false;
  bool tell = false;  // the other site
  bool save_own = false;
  bool forget_own = false;
};

/// What is wrong with the schedule of an image that is primary now, for the log
/// and the history.
void NoteScheduleTrouble(const Session& session, const std::string& state,
                         const std::string& what, const std::string& todo) {
  const std::string& volume_id = session.volume.volume_id.text();
  Log().warn("the image is primary {}: {}; {} volume={}", state, what, todo,
             Quoted(volume_id));
  HistoryEvent event;
  event.object = volume_id;
  event.from = "primary";
  event.to = absl::StrCat("primary ", state);
  event.text = absl::StrCat(event.to, ": ", what);
  session.environment.history.Add(std::move(event));
}

}  // namespace

std::optional<SnapshotSchedule> WantedSchedule(const MirrorView& view) {
  if (view.own.schedule.empty()) return std::nullopt;
  return NotedSchedule(ParseJson(view.own.schedule));
}

std::string ScheduleNote(const SnapshotSchedule& wanted) {
  return JsonText(ScheduleJson(wanted));
}

std::string ToldSchedule(const std::string& global_id,
                         const SnapshotSchedule& wanted) {
  return MarkOf(wanted, global_id);
}

std::optional<SnapshotSchedule> ReadScheduleMark(
    const std::map<std::string, std::string>& metadata,
    const std::string& global_id) {
  return MarkedSchedule(metadata, global_id, kScheduleMark);
}

MetadataChanges NoteSchedule(const ResolvedVolume& volume,
                             const SnapshotSchedule& wanted, VerbScope by,
                             const MirrorView& view, LocalRecord* record) {
  const NotesOfSchedule notes(volume, view, wanted, by);
  const std::string& global_id = view.info.global_id;
  MetadataChanges changes;
  if (notes.save_own) {
    changes[kOwnScheduleMark] = MarkOf(*WantedSchedule(view), global_id);
  }
  if (notes.forget_own) changes[kOwnScheduleMark] = std::nullopt;
  if (notes.tell) changes[kScheduleMark] = ToldSchedule(global_id, wanted);
  record->schedule = ScheduleNote(wanted);
  if (!record->pause.has_value()) return changes;
  if (record->pause->holds()) {
    record->pause->schedules = SchedulesText({wanted});
  } else {
    record->pause.reset();
  }
  return changes;
}

absl::Status KeepSchedule(Session& session, const CephUserRef& user,
                          const MirrorView& view,
                          const SnapshotSchedule& wanted, VerbScope by) {
  const NotesOfSchedule notes(session.volume, view, wanted, by);
  if (notes.write || notes.forget_own) {
    ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
    session.context.Step("writing down the mirror snapshot schedule");
    const auto write = [&](Image& image) -> absl::Status {
      MirrorView before = view;
      LocalRecord record = view.own;
      const MetadataChanges also =
          NoteSchedule(session.volume, wanted, by, before, &record);
      return WriteLocalRecord(image, record, &before, also);
    };
    ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, write));
  }
  if (view.own.pause.has_value() && view.own.pause->holds()) {
    return absl::OkStatus();
  }
  return UnlessSilent(session, user,
                      EnsureSchedule(session.context, Impatient(session),
                                     session.volume, view.image_id, wanted));
}

absl::Status EndPauseOfPromotion(Session& session, const CephUserRef& user,
                                 const MirrorView& view) {
  if (!view.own.pause.has_value() || view.own.pause->holds()) {
    return absl::OkStatus();
  }
  return UnlessSilent(session, user,
                      CarryOutPause(session, view, Impatient(session)));
}

absl::Status RestoreOwnSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view) {
  const auto own = MarkedSchedule(view, kOwnScheduleMark);
  if (!own.has_value() || !view.info.primary) return absl::OkStatus();
  return KeepSchedule(session, user, view, *own, VerbScope::kVolume);
}

absl::Status KeepFormerSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view, VerbScope by,
                                bool just_promoted) {
  if (view.own.pause.has_value()) {
    // It says so itself, and keeps what is to be set when it ends.
    return view.own.pause->holds() ? absl::OkStatus()
                                   : EndPauseOfPromotion(session, user, view);
  }
  const std::optional<SnapshotSchedule> own = WantedSchedule(view);
  // Each promotion that asked for one wrote both, so that the mark is newer.
  std::optional<SnapshotSchedule> former = MarkedSchedule(view, kScheduleMark);
  if (!former.has_value()) former = own;
  // What somebody has set by hand is left alone. A manager that is silent is
  // told of `former` later; one that does not let this user ask is not.
  const auto present = ListSchedules(session.context, Impatient(session),
                                     session.volume, view.image_id);
  if (!present.ok() && !absl::IsUnavailable(present.status())) {
    if (just_promoted) {
      NoteScheduleTrouble(
          session, "with a schedule that cannot be seen, or without one",
          std::string(present.status().message()),
          "none is set: promote it again with schedulingInterval, or look with "
          "rbd mirror snapshot schedule ls");
    }
    return absl::OkStatus();
  }
  const bool by_hand =
      present.ok() && std::any_of(present->begin(), present->end(),
                                  [&own](const SnapshotSchedule& one) {
                                    return one.Runs() && one != own;
                                  });
  if (former.has_value() && !by_hand) {
    return KeepSchedule(session, user, view, *former, by);
  }
  // A manager that is silent is not waited for twice.
  if (by_hand || !just_promoted || !present.ok()) return absl::OkStatus();
  // That of the cluster only the manager can read.
  const auto inherited = ListInheritedSchedules(
      session.context, Impatient(session), session.volume);
  if (!inherited.ok() || !inherited->empty()) return absl::OkStatus();
  session.context.Step("primary without a mirror snapshot schedule");
  session.context.memory().Of<PromotionNotes>().without_schedule = 1;
  NoteScheduleTrouble(
      session, "without a schedule",
      "no mirror snapshot is made, so nothing that is written is copied",
      "the call asks for none, and the other site had none; promote it again "
      "with schedulingInterval");
  return absl::OkStatus();
}

absl::Status SetWantedSchedule(Session& session, const MirrorView& view) {
  if (view.own.pause.has_value()) {
    return CarryOutPause(session, view, Impatient(session));
  }
  const std::optional<SnapshotSchedule> wanted = WantedSchedule(view);
  if (!wanted.has_value()) return absl::OkStatus();
  return EnsureSchedule(session.context, Impatient(session), session.volume,
                        view.image_id, *wanted);
}

}  // namespace addons
