#include "replication/mirror_schedule.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "replication/mgr_command.h"
#include "replication/state/group_mark.h"

namespace addons {
namespace {

using nlohmann::json;

constexpr char kGlobalId[] = "global_id";

std::string Command(const char* verb, const std::string& spec,
                    const SnapshotSchedule* schedule) {
  json command = {
      {"prefix", absl::StrCat("rbd mirror snapshot schedule ", verb)},
      {"level_spec", spec},
      {"format", "json"}};
  if (schedule != nullptr) {
    command["interval"] = schedule->interval_text;
    if (!schedule->start_time.empty()) {
      command["start_time"] = schedule->start_time;
    }
  }
  return command.dump();
}

/// nullopt: there is none, or it is no text.
std::optional<std::string> TextOf(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

absl::Status WrongPart(absl::string_view what, const std::string& value) {
  return absl::InternalError(
      absl::StrCat("a schedule's ", what, " is ", Quoted(value)));
}

absl::StatusOr<SnapshotSchedule> ReadSchedule(const json& entry) {
  const auto text = TextOf(entry, "interval");
  if (!text.has_value()) {
    return absl::InternalError("a schedule has no interval");
  }
  const auto interval = ParseInterval(*text);
  if (!interval.ok()) return WrongPart("interval", *text);
  SnapshotSchedule schedule;
  schedule.interval_text = *text;
  schedule.interval = *interval;
  const auto start = entry.find("start_time");
  if (start == entry.end() || start->is_null()) return schedule;
  schedule.start_time = TextOf(entry, "start_time").value_or("");
  const auto start_of_day = ParseStartTime(schedule.start_time);
  if (!start_of_day.ok()) return WrongPart("start time", schedule.start_time);
  schedule.start_of_day = *start_of_day;
  return schedule;
}

/// An image that the mgr does not know, or that is not mirrored by snapshots,
/// has no schedule that could be listed or removed.
bool NoSuchLevel(const absl::Status& status) {
  return absl::StrContains(status.message(), "does not exist") ||
         absl::StrContains(status.message(), "is not in snapshot mirror mode");
}

/// What has a schedule: an image, a namespace, a pool or the whole cluster.
struct Level {
  std::string id;    // "pool id/namespace/image id", or the beginning of that
  std::string name;  // of an image its spec; others end in "/" or are empty
  std::vector<SnapshotSchedule> schedules;
};

bool IsAnImage(const Level& level) {
  return std::count(level.id.begin(), level.id.end(), '/') == 2;
}

/// `spec` is the image's, or that of its pool and namespace.
bool Concerns(const Level& image, const std::string& spec) {
  return absl::EndsWith(spec, "/") ? absl::StartsWith(image.name, spec)
                                   : image.name == spec;
}

absl::Status NotUnderstood(const std::string& spec, absl::string_view why) {
  return absl::InternalError(absl::StrCat(
      "the manager's answer to 'rbd mirror snapshot schedule list' for ", spec,
      " is not understood: ", why));
}

/// Of the answer for `spec`. What is not understood is an error, for it may be
/// a schedule.
absl::StatusOr<std::vector<Level>> ReadLevels(const std::string& spec,
                                              const std::string& answer) {
  const json levels = json::parse(answer, nullptr, false);
  if (!levels.is_object())
    return NotUnderstood(spec, "it is not a JSON object");
  std::vector<Level> result;
  for (const auto& [id, value] : levels.items()) {
    const auto name = TextOf(value, "name");
    if (!name.has_value()) return NotUnderstood(spec, "a level has no name");
    Level level{id, *name, {}};
    if (IsAnImage(level) ? !Concerns(level, spec)
                         : !level.name.empty() && level.name.back() != '/') {
      return NotUnderstood(spec,
                           absl::StrCat("a level is named ", Quoted(*name)));
    }
    const auto entries = value.find("schedule");
    if (entries == value.end() || !entries->is_array()) {
      return NotUnderstood(spec, "a level has no list of schedules");
    }
    for (const json& entry : *entries) {
      auto schedule = ReadSchedule(entry);
      if (!schedule.ok()) {
        return NotUnderstood(spec, schedule.status().message());
      }
      level.schedules.push_back(*std::move(schedule));
    }
    result.push_back(std::move(level));
  }
  return result;
}

/// What kScheduleMark and kOwnScheduleMark hold.
std::string ScheduleMark(const MirrorView& view,
                         const SnapshotSchedule& schedule) {
  json mark = {{kGlobalId, view.info.global_id},
               {"interval", schedule.interval_text}};
  if (!schedule.start_time.empty()) mark["start_time"] = schedule.start_time;
  return mark.dump();
}

std::optional<SnapshotSchedule> MarkedSchedule(const MirrorView& view,
                                               const char* key) {
  const auto found = view.marks.find(key);
  if (found == view.marks.end()) return std::nullopt;
  const json mark = json::parse(found->second, nullptr, false);
  // One of an earlier enabling is not wanted any more.
  if (!mark.is_object() || !mark.contains(kGlobalId) ||
      mark[kGlobalId] != view.info.global_id) {
    return std::nullopt;
  }
  auto schedule = ReadSchedule(mark);
  if (!schedule.ok()) return std::nullopt;
  return *std::move(schedule);
}

}  // namespace

absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& spec) {
  const auto output = RunNeededMgrCommand(context, options, cluster,
                                          Command("list", spec, nullptr));
  std::vector<SnapshotSchedule> schedules;
  if (NoSuchLevel(output.status())) return schedules;
  ADDONS_RETURN_IF_ERROR(output.status());
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Level> levels,
                          ReadLevels(spec, *output));
  for (const Level& level : levels) {
    // Where the image has none, that of its pool or namespace is listed.
    if (!IsAnImage(level)) continue;
    schedules.insert(schedules.end(), level.schedules.begin(),
                     level.schedules.end());
  }
  return schedules;
}

absl::Status EnsureSchedule(OperationContext& context,
                            const ReplicationOptions& options, Cluster& cluster,
                            const std::string& spec,
                            const SnapshotSchedule& wanted) {
  context.Step("checking the mirror snapshot schedule");
  ADDONS_ASSIGN_OR_RETURN(std::vector<SnapshotSchedule> present,
                          ListSchedules(context, options, cluster, spec));
  const bool there =
      std::find(present.begin(), present.end(), wanted) != present.end();
  if (there && present.size() == 1) return absl::OkStatus();

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("setting the mirror snapshot schedule");
  if (!there) {
    ADDONS_RETURN_IF_ERROR(RunNeededMgrCommand(context, options, cluster,
                                               Command("add", spec, &wanted))
                               .status());
  }
  for (const SnapshotSchedule& schedule : present) {
    if (schedule == wanted) continue;
    ADDONS_RETURN_IF_ERROR(
        RunNeededMgrCommand(context, options, cluster,
                            Command("remove", spec, &schedule))
            .status());
  }
  return absl::OkStatus();
}

absl::Status RemoveSchedules(OperationContext& context,
                             const ReplicationOptions& options,
                             Cluster& cluster, const std::string& spec) {
  context.Step("removing mirror snapshot schedules");
  ADDONS_ASSIGN_OR_RETURN(const std::vector<SnapshotSchedule> present,
                          ListSchedules(context, options, cluster, spec));
  if (present.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  const auto removed = RunNeededMgrCommand(context, options, cluster,
                                           Command("remove", spec, nullptr));
  return NoSuchLevel(removed.status()) ? absl::OkStatus() : removed.status();
}

absl::StatusOr<AppliedSchedules> ReadAppliedSchedules(
    Cluster& cluster, const std::string& spec, const std::string& image_id) {
  const auto output = cluster.MgrCommand(Command("list", spec, nullptr));
  AppliedSchedules applied;
  if (NoSuchLevel(output.status())) return applied;
  ADDONS_RETURN_IF_ERROR(output.status());
  ADDONS_ASSIGN_OR_RETURN(const std::vector<Level> levels,
                          ReadLevels(spec, *output));
  for (const Level& level : levels) {
    const bool own = absl::EndsWith(level.id, absl::StrCat("/", image_id));
    if (IsAnImage(level) && !own) continue;
    auto& schedules = own ? applied.own : applied.inherited;
    schedules.insert(schedules.end(), level.schedules.begin(),
                     level.schedules.end());
  }
  return applied;
}

absl::StatusOr<PoolSchedules> ReadPoolSchedules(Cluster& cluster,
                                                const std::string& pool_spec) {
  const auto output = cluster.MgrCommand(Command("list", pool_spec, nullptr));
  PoolSchedules found;
  if (NoSuchLevel(output.status())) return found;
  ADDONS_RETURN_IF_ERROR(output.status());
  ADDONS_ASSIGN_OR_RETURN(std::vector<Level> levels,
                          ReadLevels(pool_spec, *output));
  const bool in_namespace =
      std::count(pool_spec.begin(), pool_spec.end(), '/') == 2;
  for (Level& level : levels) {
    // Asked for a pool, the manager lists its namespaces as well.
    const size_t first = level.id.find('/');
    if (!in_namespace && first != std::string::npos &&
        first + 1 < level.id.size() && level.id[first + 1] != '/') {
      continue;
    }
    if (IsAnImage(level)) {
      found.own[level.id.substr(level.id.rfind('/') + 1)] =
          std::move(level.schedules);
      continue;
    }
    found.inherited.insert(found.inherited.end(), level.schedules.begin(),
                           level.schedules.end());
  }
  return found;
}

std::optional<SnapshotSchedule> WantedSchedule(const MirrorView& view) {
  return MarkedSchedule(view, kScheduleMark);
}

absl::Status KeepSchedule(Session& session, const CephUserRef& user,
                          const MirrorView& view,
                          const SnapshotSchedule& wanted, VerbScope by) {
  const std::optional<SnapshotSchedule> before = WantedSchedule(view);
  const bool is_own = view.marks.contains(kOwnScheduleMark);
  // That of a volume that was mirrored before its group asked for another one.
  const bool save = by == VerbScope::kGroupMember && before.has_value() &&
                    before != wanted && !is_own &&
                    !MirroredForGroup(view, session.volume);
  const bool forget = by == VerbScope::kVolume && is_own;
  if (before != wanted || forget) {
    ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
    session.context.Step("writing down the mirror snapshot schedule");
    const auto write = [&](Image& image) -> absl::Status {
      if (save) {
        ADDONS_RETURN_IF_ERROR(
            image.SetMetadata(kOwnScheduleMark, ScheduleMark(view, *before)));
      }
      ADDONS_RETURN_IF_ERROR(
          image.SetMetadata(kScheduleMark, ScheduleMark(view, wanted)));
      return forget ? image.RemoveMetadata(kOwnScheduleMark) : absl::OkStatus();
    };
    ADDONS_RETURN_IF_ERROR(ChangeImage(session.volume, write));
  }
  ReplicationOptions options = session.environment.options;
  options.mgr_patience = options.schedule_patience;
  absl::Status set = EnsureSchedule(session.context, options, session.cluster(),
                                    session.volume.ImageSpec(), wanted);
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

absl::Status RestoreOwnSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view) {
  const auto own = MarkedSchedule(view, kOwnScheduleMark);
  if (!own.has_value() || !view.info.primary) return absl::OkStatus();
  return KeepSchedule(session, user, view, *own, VerbScope::kVolume);
}

absl::Status SetWantedSchedule(Session& session, const MirrorView& view) {
  const std::optional<SnapshotSchedule> wanted = WantedSchedule(view);
  if (!wanted.has_value()) return absl::OkStatus();
  ReplicationOptions options = session.environment.options;
  options.mgr_patience = options.schedule_patience;
  return EnsureSchedule(session.context, options, session.cluster(),
                        session.volume.ImageSpec(), *wanted);
}

}  // namespace addons
