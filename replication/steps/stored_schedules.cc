#include "replication/steps/stored_schedules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/cluster_health.h"
#include "ceph/pool.h"
#include "replication/steps/schedule_json.h"

namespace addons {
namespace {

using nlohmann::json;

/// What the manager has written; nullopt: it is not understood.
std::optional<std::vector<SnapshotSchedule>> ParseStored(
    const std::string& text) {
  const json entries = ParseJson(text);
  if (!entries.is_array()) return std::nullopt;
  std::vector<SnapshotSchedule> schedules;
  for (const json& entry : entries) {
    auto schedule = ParseSchedule(entry);
    if (!schedule.ok()) return std::nullopt;
    schedules.push_back(*std::move(schedule));
  }
  return schedules;
}

/// Those of one level, none where the manager keeps none; nullopt: not known.
std::optional<std::vector<SnapshotSchedule>> ReadLevel(
    Pool& pool, const std::string& level) {
  const auto text = pool.ReadOmapKey(kScheduleObject, level);
  const bool none =
      text.ok() ? !text->has_value() : absl::IsNotFound(text.status());
  if (none) return std::vector<SnapshotSchedule>();
  return text.ok() ? ParseStored(**text) : std::nullopt;
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
  if (!volume.rados_namespace.empty()) return std::nullopt;
  const auto pool = volume.cluster->OpenPool(volume.pool_id, "", Access::kRead);
  if (!pool.ok()) return std::nullopt;
  return ReadLevel(
      **pool, absl::StrCat(ScheduleLevelPrefix(volume.pool_id, ""), image_id));
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

absl::StatusOr<std::vector<WrongSchedule>> FindWrongSchedules(Pool& whole,
                                                              Pool& pool) {
  const std::string prefix =
      ScheduleLevelPrefix(pool.id(), pool.rados_namespace());
  std::map<std::string, std::string> levels;  // with what is kept there
  const auto images = whole.ReadOmap(kScheduleObject, prefix);
  if (absl::IsNotFound(images.status())) return std::vector<WrongSchedule>();
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
  std::vector<WrongSchedule> wrong;
  for (const auto& [level, text] : levels) {
    const auto schedules = ParseStored(text);
    if (!schedules.has_value()) continue;
    for (const SnapshotSchedule& schedule : *schedules) {
      std::string seen = WhatIsWrong(schedule);
      if (seen.empty()) continue;
      wrong.push_back(
          {level,
           absl::StartsWith(level, prefix) ? level.substr(prefix.size()) : "",
           schedule, std::move(seen)});
    }
  }
  return wrong;
}

}  // namespace addons
