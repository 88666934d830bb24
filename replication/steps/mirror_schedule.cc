#include "replication/steps/mirror_schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/pool.h"
#include "replication/look/record.h"
#include "replication/schedule_store.h"
#include "replication/steps/mgr_command.h"

namespace addons {
namespace {

using nlohmann::json;

std::string Command(const char* verb, const std::string& spec,
                    const SnapshotSchedule* schedule) {
  json command = {
      {"prefix", absl::StrCat("rbd mirror snapshot schedule ", verb)},
      {"level_spec", spec},
      {"format", "json"}};
  if (schedule != nullptr) {
    command["interval"] = schedule->interval_text;
    if (!schedule->start_time.empty()) {
      // Ceph 21 takes dates alone, also of what it was told without one; older
      // ones drop them.
      const bool dated =
          !schedule->start.has_value() || schedule->start->day.has_value();
      command["start_time"] =
          absl::StrCat(dated ? "" : "1970-01-01T", schedule->start_time);
    }
  }
  return JsonText(command);
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
  const json levels = ParseJson(answer);
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
      auto schedule = ParseSchedule(entry);
      if (!schedule.ok()) {
        return NotUnderstood(spec, schedule.status().message());
      }
      level.schedules.push_back(*std::move(schedule));
    }
    result.push_back(std::move(level));
  }
  return result;
}

void RemoveThoseThatDoNotRun(std::vector<SnapshotSchedule>* schedules) {
  std::erase_if(*schedules, [](const SnapshotSchedule& schedule) {
    return !schedule.Runs();
  });
}

/// What the module that takes mirror snapshots answers without opening an
/// image, and soon, whatever it is at: that it is there. What it lists are
/// other schedules, of the pool.
std::string AreYouThere(const std::string& pool_spec) {
  return JsonText({{"prefix", "rbd trash purge schedule list"},
                   {"level_spec", pool_spec},
                   {"format", "json"}});
}

/// Of each of `schedules` `verb`, where the manager can write.
absl::Status TellManager(OperationContext& context,
                         const ReplicationOptions& options,
                         const ResolvedVolume& volume, const char* verb,
                         const std::vector<SnapshotSchedule>& schedules) {
  if (schedules.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(ManagerCanWrite(volume));
  for (const SnapshotSchedule& schedule : schedules) {
    ADDONS_RETURN_IF_ERROR(
        RunNeededMgrCommand(context, options, *volume.cluster,
                            Command(verb, volume.ImageSpec(), &schedule))
            .status());
  }
  return absl::OkStatus();
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

absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    const ResolvedVolume& volume, const std::string& image_id) {
  const auto stored = ReadStoredSchedules(volume, image_id);
  if (stored.has_value()) return *stored;
  return ListSchedules(context, options, *volume.cluster, volume.ImageSpec());
}

absl::Status EnsureSchedule(OperationContext& context,
                            const ReplicationOptions& options,
                            const ResolvedVolume& volume,
                            const std::string& image_id,
                            const SnapshotSchedule& wanted) {
  context.Step("checking the mirror snapshot schedule");
  ADDONS_ASSIGN_OR_RETURN(const std::vector<SnapshotSchedule> present,
                          ListSchedules(context, options, volume, image_id));
  const bool there =
      std::find(present.begin(), present.end(), wanted) != present.end();
  if (there && present.size() == 1) return absl::OkStatus();

  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  context.Step("setting the mirror snapshot schedule");
  if (!there) {
    ADDONS_RETURN_IF_ERROR(
        TellManager(context, options, volume, "add", {wanted}));
  }
  std::vector<SnapshotSchedule> others = present;
  std::erase(others, wanted);
  return DropSchedules(context, options, volume, others);
}

absl::Status AddSchedules(OperationContext& context,
                          const ReplicationOptions& options,
                          const ResolvedVolume& volume,
                          const std::string& image_id,
                          const std::vector<SnapshotSchedule>& schedules) {
  const auto missing = [&]() -> absl::StatusOr<std::vector<SnapshotSchedule>> {
    ADDONS_ASSIGN_OR_RETURN(const std::vector<SnapshotSchedule> present,
                            ListSchedules(context, options, volume, image_id));
    std::vector<SnapshotSchedule> left = schedules;
    std::erase_if(left, [&present](const SnapshotSchedule& schedule) {
      return std::find(present.begin(), present.end(), schedule) !=
             present.end();
    });
    return left;
  };
  context.Step("putting mirror snapshot schedules back");
  ADDONS_ASSIGN_OR_RETURN(std::vector<SnapshotSchedule> left, missing());
  if (left.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  ADDONS_RETURN_IF_ERROR(TellManager(context, options, volume, "add", left));
  ADDONS_ASSIGN_OR_RETURN(left, missing());
  if (left.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the manager took the schedule ", left.front().interval_text,
                   " and does not list it; repeat the call"));
}

absl::Status DropSchedules(OperationContext& context,
                           const ReplicationOptions& options,
                           const ResolvedVolume& volume,
                           const std::vector<SnapshotSchedule>& schedules) {
  return TellManager(context, options, volume, "remove", schedules);
}

absl::Status RemoveSchedules(OperationContext& context,
                             const ReplicationOptions& options,
                             const ResolvedVolume& volume,
                             const std::string& image_id) {
  context.Step("removing mirror snapshot schedules");
  const auto stored = ReadStoredSchedules(volume, image_id);
  if (!stored.has_value() || stored->empty()) {
    // The manager is asked before it is believed that there is none: nobody
    // looks for it again once the image is not mirrored any more.
    ADDONS_ASSIGN_OR_RETURN(
        const std::vector<SnapshotSchedule> present,
        ListSchedules(context, options, *volume.cluster, volume.ImageSpec()));
    if (present.empty()) return absl::OkStatus();
  }
  ADDONS_RETURN_IF_ERROR(context.BeginMutation());
  if (const absl::Status full = ManagerCanWrite(volume); !full.ok()) {
    // It reads what it keeps every minute. Until then it would write this one
    // again beside a new one, which a full pool does not get.
    ADDONS_ASSIGN_OR_RETURN(const bool removed,
                            RemoveStoredSchedules(volume, image_id));
    return removed ? absl::OkStatus() : full;
  }
  const auto removed =
      RunNeededMgrCommand(context, options, *volume.cluster,
                          Command("remove", volume.ImageSpec(), nullptr));
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
  RemoveThoseThatDoNotRun(&applied.own);
  RemoveThoseThatDoNotRun(&applied.inherited);
  return applied;
}

absl::StatusOr<AppliedSchedules> ReadAppliedSchedules(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const std::string& image_id, SteadyTime deadline) {
  const ResolvedVolume& volume = opened.volume;
  const ManagerPresence::Asker asker{
      volume.cluster->fsid(), opened.user == nullptr ? "" : opened.user->id};
  auto stored = ReadStoredSchedules(volume, image_id);
  if (stored.has_value()) RemoveThoseThatDoNotRun(&*stored);
  const auto ask = [&]() -> absl::StatusOr<AppliedSchedules> {
    const SteadyTime asked_at = environment.clock.Now();
    auto listed =
        ReadAppliedSchedules(*volume.cluster, volume.ImageSpec(), image_id);
    if (listed.ok()) environment.manager.NoteAnswer(asker, asked_at);
    if (!absl::IsPermissionDenied(listed.status()) || !stored.has_value()) {
      return listed;
    }
    AppliedSchedules kept;
    kept.manager_asked = false;
    kept.own = *stored;
    if (kept.own.empty()) {
      kept.inherited = ReadStoredSchedulesThatApply(volume, image_id);
      RemoveThoseThatDoNotRun(&kept.inherited);
    }
    return kept;
  };
  if (!stored.has_value() || stored->empty()) return ask();
  const absl::Status there = environment.manager.Ask(asker, deadline, [&] {
    return volume.cluster->MgrCommand(AreYouThere(volume.Spec(""))).status();
  });
  // A user who may call what is needed alone.
  if (absl::IsPermissionDenied(there)) return ask();
  ADDONS_RETURN_IF_ERROR(there);
  AppliedSchedules applied;
  applied.own = *std::move(stored);
  return applied;
}

namespace {

absl::StatusOr<PoolSchedules> ParsePoolSchedules(const std::string& pool_spec,
                                                 const std::string& answer) {
  PoolSchedules found;
  ADDONS_ASSIGN_OR_RETURN(std::vector<Level> levels,
                          ReadLevels(pool_spec, answer));
  const bool in_namespace =
      std::count(pool_spec.begin(), pool_spec.end(), '/') == 2;
  for (Level& level : levels) {
    // Asked for a pool, the manager lists its namespaces as well.
    const size_t first = level.id.find('/');
    if (!in_namespace && first != std::string::npos &&
        first + 1 < level.id.size() && level.id[first + 1] != '/') {
      continue;
    }
    RemoveThoseThatDoNotRun(&level.schedules);
    if (level.schedules.empty()) continue;
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

}  // namespace

absl::StatusOr<PoolSchedules> ReadPoolSchedules(Cluster& cluster,
                                                const std::string& pool_spec) {
  const auto output = cluster.MgrCommand(Command("list", pool_spec, nullptr));
  if (NoSuchLevel(output.status())) return PoolSchedules();
  ADDONS_RETURN_IF_ERROR(output.status());
  return ParsePoolSchedules(pool_spec, *output);
}

absl::StatusOr<std::vector<SnapshotSchedule>> ListInheritedSchedules(
    OperationContext& context, const ReplicationOptions& options,
    const ResolvedVolume& volume) {
  const std::string pool_spec = volume.Spec("");
  const auto output = RunNeededMgrCommand(context, options, *volume.cluster,
                                          Command("list", pool_spec, nullptr));
  if (NoSuchLevel(output.status())) return std::vector<SnapshotSchedule>();
  ADDONS_RETURN_IF_ERROR(output.status());
  ADDONS_ASSIGN_OR_RETURN(PoolSchedules found,
                          ParsePoolSchedules(pool_spec, *output));
  return std::move(found.inherited);
}

}  // namespace addons
