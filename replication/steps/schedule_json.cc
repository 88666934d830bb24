#include "replication/steps/schedule_json.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace addons {
namespace {

/// As the manager takes and keeps it, although it answers that it is wrong.
bool IsZeroInterval(const std::string& text) {
  return text.size() >= 2 && text.find_first_not_of('0') == text.size() - 1 &&
         std::string("mhd").find(text.back()) != std::string::npos;
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

}  // namespace addons
