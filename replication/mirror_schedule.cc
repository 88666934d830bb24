#include "replication/mirror_schedule.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "replication/mgr_command.h"

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
      command["start_time"] = schedule->start_time;
    }
  }
  return command.dump();
}

absl::StatusOr<SnapshotSchedule> ReadSchedule(const json& entry) {
  SnapshotSchedule schedule;
  if (!entry.is_object()) {
    return absl::InternalError("a schedule is not a JSON object");
  }
  schedule.interval_text = entry.value("interval", "");
  ADDONS_ASSIGN_OR_RETURN(schedule.interval,
                          ParseInterval(schedule.interval_text));
  if (const auto it = entry.find("start_time");
      it != entry.end() && it->is_string()) {
    schedule.start_time = it->get<std::string>();
    ADDONS_ASSIGN_OR_RETURN(schedule.start_of_day,
                            ParseStartTime(schedule.start_time));
  }
  return schedule;
}

/// An image that the mgr does not know, or that is not mirrored by snapshots,
/// has no schedule that could be listed or removed.
bool NoSuchLevel(const absl::Status& status) {
  return absl::StrContains(status.message(), "does not exist") ||
         absl::StrContains(status.message(), "is not in snapshot mirror mode");
}

}  // namespace

absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& spec) {
  const auto output =
      RunMgrCommand(context, options, cluster, Command("list", spec, nullptr));
  std::vector<SnapshotSchedule> schedules;
  if (NoSuchLevel(output.status())) return schedules;
  ADDONS_RETURN_IF_ERROR(output.status());
  const json levels = json::parse(*output, nullptr, false);
  if (!levels.is_object()) {
    return absl::InternalError(
        absl::StrCat("the manager's list of mirror snapshot schedules of ",
                     spec, " is not a JSON object"));
  }
  for (const auto& [level, value] : levels.items()) {
    // A pool's or namespace's schedule can be listed for an image as well.
    if (!value.is_object() || value.value("name", "") != spec) continue;
    for (const json& entry : value.value("schedule", json::array())) {
      ADDONS_ASSIGN_OR_RETURN(SnapshotSchedule schedule, ReadSchedule(entry));
      schedules.push_back(std::move(schedule));
    }
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
    ADDONS_RETURN_IF_ERROR(
        RunMgrCommand(context, options, cluster, Command("add", spec, &wanted))
            .status());
  }
  for (const SnapshotSchedule& schedule : present) {
    if (schedule == wanted) continue;
    ADDONS_RETURN_IF_ERROR(RunMgrCommand(context, options, cluster,
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
  const auto removed = RunMgrCommand(context, options, cluster,
                                     Command("remove", spec, nullptr));
  return NoSuchLevel(removed.status()) ? absl::OkStatus() : removed.status();
}

}  // namespace addons
