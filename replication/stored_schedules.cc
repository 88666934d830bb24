#include "replication/stored_schedules.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ceph/pool.h"
#include "replication/schedule_json.h"

namespace addons {
namespace {

using nlohmann::json;

/// What the manager has written; nullopt: it is not understood.
std::optional<std::vector<SnapshotSchedule>> ParseStored(
    const std::string& text) {
  const json entries = json::parse(text, nullptr, false);
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
    if (!schedules->empty()) return *std::move(schedules);
  }
  return {};
}

}  // namespace addons
