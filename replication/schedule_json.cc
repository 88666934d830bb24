#include "replication/schedule_json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace addons {
namespace {

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

}  // namespace addons
