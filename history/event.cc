#include "history/event.h"

#include <algorithm>
#include <tuple>

#include "absl/status/status.h"
#include "base/json.h"
#include "base/without_numbers.h"

namespace addons {
namespace {

using Json = nlohmann::json;

constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%E3SZ";

std::string TimeText(absl::Time time) {
  return absl::FormatTime(kTimeFormat, time, absl::UTCTimeZone());
}

bool ReadTime(const Json& json, const char* key, absl::Time* time) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() &&
         absl::ParseTime(absl::RFC3339_full, found->get<std::string>(), time,
                         nullptr);
}

/// The texts of an event and what they are called, in the order in which they
/// are read.
template <typename Event, typename Visit>
void ForEachText(Event& event, const Visit& visit) {
  visit("object", event.object);
  visit("image", event.image);
  visit("verb", event.verb);
  visit("user", event.user);
  visit("request", event.request);
  visit("code", event.code);
  visit("from", event.from);
  visit("to", event.to);
  visit("text", event.text);
  visit("daemon", event.daemon);
}

}  // namespace

bool SaysTheSame(const HistoryEvent& event, const HistoryEvent& later) {
  const auto facts = [](const HistoryEvent& one) {
    return std::tie(one.object, one.verb, one.user, one.code, one.from, one.to);
  };
  return facts(event) == facts(later) &&
         WithoutNumbers(event.text) == WithoutNumbers(later.text);
}

std::string WriteHistoryEvent(const HistoryEvent& event) {
  Json json = {{"time", TimeText(event.time)}};
  if (event.times > 1) {
    json["until"] = TimeText(event.until);
    json["times"] = event.times;
  }
  ForEachText(event, [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text.substr(0, kMostHistoryText);
  });
  // What is no UTF-8, or was cut in the middle of a character, is replaced.
  return ReplacedJsonText(json);
}

absl::StatusOr<HistoryEvent> ParseHistoryEvent(absl::string_view text) {
  const Json json = ParseJson(text);
  HistoryEvent event;
  if (!json.is_object() || !ReadTime(json, "time", &event.time)) {
    return absl::InvalidArgumentError("is no entry of a history");
  }
  if (!ReadTime(json, "until", &event.until)) event.until = event.time;
  if (const auto times = json.find("times");
      times != json.end() && times->is_number_unsigned()) {
    event.times = std::max<uint64_t>(1, times->get<uint64_t>());
  }
  ForEachText(event, [&](const char* key, std::string& value) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_string()) {
      value = found->get<std::string>();
    }
  });
  return event;
}

}  // namespace addons
