#include "replication/schedule_store.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/cluster_health.h"
#include "ceph/pool.h"

namespace addons {

namespace {

/// As the manager takes and keeps it, although it answers that it is wrong.
bool IsZeroInterval(const std::string& text) {
  return text.size() >= 2 && text.find_first_not_of('0') == text.size() - 1 &&
         absl::StrContains("mhd", text.back());
}

absl::Status WrongPart(absl::string_view what, const std::string& value) {
  return absl::InternalError(
      absl::StrCat("a schedule's ", what, " is ", Quoted(value)));
}

}  // namespace

std::optional<std::string> TextOf(const nlohmann::json& object,
                                  const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) return std::nullopt;
  return it->get<std::string>();
}

absl::StatusOr<SnapshotSchedule> ParseSchedule(const nlohmann::json& entry) {
  const auto text = TextOf(entry, "interval");
  if (!text.has_value()) {
    return absl::InternalError("a schedule has no interval");
  }
  SnapshotSchedule schedule;
  schedule.interval_text = *text;
  if (!IsZeroInterval(*text)) {
    const auto interval = ParseInterval(*text);
    if (!interval.ok()) return WrongPart("interval", *text);
    schedule.interval = *interval;
  }
  const auto start = entry.find("start_time");
  if (start == entry.end() || start->is_null()) return schedule;
  schedule.start_time = TextOf(entry, "start_time").value_or("");
  const auto told = ParseStartTime(schedule.start_time);
  if (!told.ok()) return WrongPart("start time", schedule.start_time);
  schedule.start = *told;
  return schedule;
}

nlohmann::json ScheduleJson(const SnapshotSchedule& schedule) {
  nlohmann::json value = {{"interval", schedule.interval_text}};
  if (!schedule.start_time.empty()) value["start_time"] = schedule.start_time;
  return value;
}

std::optional<std::vector<SnapshotSchedule>> ParseSchedules(
    const std::string& text) {
  const nlohmann::json entries = ParseJson(text);
  if (!entries.is_array()) return std::nullopt;
  std::vector<SnapshotSchedule> schedules;
  for (const nlohmann::json& entry : entries) {
    auto schedule = ParseSchedule(entry);
    if (!schedule.ok()) return std::nullopt;
    schedules.push_back(*std::move(schedule));
  }
  return schedules;
}

std::string SchedulesText(const std::vector<SnapshotSchedule>& schedules) {
  nlohmann::json entries = nlohmann::json::array();
  for (const SnapshotSchedule& schedule : schedules) {
    entries.push_back(ScheduleJson(schedule));
  }
  return JsonText(entries);
}

std::vector<SnapshotSchedule> KeptSchedules(const SchedulePause& pause) {
  return ParseSchedules(pause.schedules)
      .value_or(std::vector<SnapshotSchedule>());
}

namespace {

/// Those of one level, none where the manager keeps none; nullopt: not known.
std::optional<std::vector<SnapshotSchedule>> ReadLevel(
    Pool& pool, const std::string& level) {
  const auto text = pool.ReadOmapKey(kScheduleObject, level);
  const bool none =
      text.ok() ? !text->has_value() : absl::IsNotFound(text.status());
  if (none) return std::vector<SnapshotSchedule>();
  return text.ok() ? ParseSchedules(**text) : std::nullopt;
}

/// By the release notes of Ceph 21. A manager of which nothing is known may be
/// one of those.
bool ManagerSpreads(Cluster& cluster) {
  constexpr int kFirstThatSpreads = 21;
  const auto releases = ReadReleases(cluster, "mgr");
  if (!releases.ok()) return true;
  return std::any_of(releases->begin(), releases->end(), [](const auto& each) {
    const std::optional<int> major = MajorRelease(each.first);
    return !major.has_value() || *major >= kFirstThatSpreads;
  });
}

void MarkSpread(Cluster& cluster, std::vector<SnapshotSchedule>& schedules) {
  const auto open = [](const SnapshotSchedule& schedule) {
    return schedule.Runs() && !schedule.start.has_value();
  };
  if (std::none_of(schedules.begin(), schedules.end(), open)) return;
  if (!ManagerSpreads(cluster)) return;
  for (SnapshotSchedule& schedule : schedules) schedule.spread = open(schedule);
}

/// Empty: nothing is wrong with it.
std::string WhatIsWrong(const SnapshotSchedule& schedule) {
  if (!schedule.Runs()) {
    return "the manager keeps a mirror snapshot schedule without an interval "
           "(0m), which makes no snapshot; on Ceph 16 it may keep every other "
           "schedule of the cluster from running";
  }
  if (schedule.start.has_value() && !schedule.start->in_utc) {
    return absl::StrCat(
        "the start time ", Quoted(schedule.start_time),
        " of a mirror snapshot schedule has the offset of a zone: up to Ceph "
        "20 the manager adds it where it has to be taken off, so the snapshots "
        "are made hours away from what was meant; start times in UTC are right "
        "everywhere");
  }
  return "";
}

}  // namespace

std::string ScheduleLevelPrefix(int64_t pool_id,
                                const std::string& rados_namespace) {
  return absl::StrCat(pool_id, "/", rados_namespace, "/");
}

std::optional<std::vector<SnapshotSchedule>> ReadStoredSchedules(
    const ResolvedVolume& volume, const std::string& image_id) {
  const auto pool = volume.cluster->OpenPool(volume.pool_id, "", Access::kRead);
  if (!pool.ok()) return std::nullopt;
  const std::string prefix =
      ScheduleLevelPrefix(volume.pool_id, volume.rados_namespace);
  return ReadLevel(**pool, absl::StrCat(prefix, image_id));
}

absl::StatusOr<bool> RemoveStoredSchedules(const ResolvedVolume& volume,
                                           const std::string& image_id) {
  const std::string level = absl::StrCat(
      ScheduleLevelPrefix(volume.pool_id, volume.rados_namespace), image_id);
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      volume.cluster->OpenPool(volume.pool_id, "", Access::kMutate));
  const auto present = pool->ReadOmapKey(kScheduleObject, level);
  if (absl::IsNotFound(present.status())) return false;
  ADDONS_RETURN_IF_ERROR(present.status());
  if (!present->has_value()) return false;
  ADDONS_RETURN_IF_ERROR(pool->RemoveOmapKeys(kScheduleObject, {level}));
  return true;
}

std::vector<SnapshotSchedule> ReadStoredSchedulesThatApply(
    const ResolvedVolume& volume, const std::string& image_id) {
  const auto pool = volume.cluster->OpenPool(volume.pool_id, "", Access::kRead);
  if (!pool.ok()) return {};
  const std::string image =
      ScheduleLevelPrefix(volume.pool_id, volume.rados_namespace);
  for (const std::string& level :
       {absl::StrCat(image, image_id), image.substr(0, image.size() - 1),
        absl::StrCat(volume.pool_id)}) {
    auto schedules = ReadLevel(**pool, level);
    if (!schedules.has_value()) return {};
    if (schedules->empty()) continue;
    MarkSpread(*volume.cluster, *schedules);
    return *std::move(schedules);
  }
  return {};
}

namespace {

/// What the manager keeps of `pool` (and its namespace), its own and its
/// images', by level.
absl::StatusOr<std::map<std::string, std::string>> ReadLevels(Pool& whole,
                                                              Pool& pool) {
  const std::string prefix =
      ScheduleLevelPrefix(pool.id(), pool.rados_namespace());
  std::map<std::string, std::string> levels;
  const auto images = whole.ReadOmap(kScheduleObject, prefix);
  if (absl::IsNotFound(images.status())) return levels;
  ADDONS_RETURN_IF_ERROR(images.status());
  levels.insert(images->begin(), images->end());
  std::vector<std::string> wholes = {prefix.substr(0, prefix.size() - 1)};
  if (pool.rados_namespace().empty()) {
    wholes.push_back(absl::StrCat(pool.id()));
  }
  for (const std::string& level : wholes) {
    ADDONS_ASSIGN_OR_RETURN(const auto kept,
                            whole.ReadOmapKey(kScheduleObject, level));
    if (kept.has_value()) levels.emplace(level, *kept);
  }
  return levels;
}

/// Empty: of a whole pool or namespace.
std::string ImageIdOf(const Pool& pool, const std::string& level) {
  const std::string prefix =
      ScheduleLevelPrefix(pool.id(), pool.rados_namespace());
  return absl::StartsWith(level, prefix) ? level.substr(prefix.size()) : "";
}

}  // namespace

absl::StatusOr<WrongSchedules> FindWrongSchedules(Pool& whole, Pool& pool) {
  ADDONS_ASSIGN_OR_RETURN(const auto levels, ReadLevels(whole, pool));
  WrongSchedules found;
  for (const auto& [level, text] : levels) {
    const std::string image_id = ImageIdOf(pool, level);
    const auto schedules = ParseSchedules(text);
    if (!schedules.has_value()) {
      found.unreadable.emplace(level, image_id);
      continue;
    }
    for (const SnapshotSchedule& schedule : *schedules) {
      std::string seen = WhatIsWrong(schedule);
      if (seen.empty()) continue;
      found.wrong.push_back({level, image_id, schedule, std::move(seen)});
    }
  }
  return found;
}

}  // namespace addons
