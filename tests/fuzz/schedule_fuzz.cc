// Parameters of a VolumeReplicationClass, one "key=value" a line, among them
// schedules; and durations, as flags have them.

#include <chrono>
#include <string>

#include "absl/strings/str_split.h"
#include "base/duration.h"
#include "replication/parameters.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

void CheckDuration(absl::string_view text) {
  const auto duration = ParseDuration(text);
  if (!duration.ok()) {
    CheckError(duration.status(), absl::StatusCode::kInvalidArgument);
    return;
  }
  CheckThat(*duration >= milliseconds(0) && *duration <= hours(24 * 7),
            "a duration is at most a week", text);
  const std::string printed = FormatDuration(*duration);
  const auto again = ParseDuration(printed);
  CheckThat(again.ok() && *again == *duration, "read again it is the same",
            printed);
}

void CheckInterval(const std::string& text) {
  const auto interval = ParseInterval(text);
  if (!interval.ok()) {
    CheckError(interval.status(), absl::StatusCode::kInvalidArgument);
    return;
  }
  CheckThat(*interval > minutes(0), "an interval is not zero", text);
  const auto again = ParseInterval(std::to_string(interval->count()) + "m");
  // The number may have become too long.
  CheckThat(!again.ok() || *again == *interval, "it is so many minutes", text);
}

void CheckStartTime(const std::string& text) {
  const auto start = ParseStartTime(text);
  if (!start.ok()) {
    CheckError(start.status(), absl::StatusCode::kInvalidArgument);
    return;
  }
  CheckThat(start->of_day >= seconds(0) && start->of_day < hours(24),
            "a start time lies within a day", text);
  const auto count = start->of_day.count();
  const auto two = [](int64_t number) {
    return std::string(number < 10 ? "0" : "") + std::to_string(number);
  };
  const std::string printed =
      two(count / 3600) + ":" + two(count / 60 % 60) + ":" + two(count % 60);
  const auto again = ParseStartTime(printed);
  CheckThat(again.ok() && again->of_day == start->of_day,
            "read again it is the same", printed);
}

void CheckParameters(const ParameterMap& map) {
  const auto parameters = ReplicationParameters::Parse(map);
  const auto disable = ReplicationParameters::ParseForDisable(map);
  for (const auto* result : {&parameters, &disable}) {
    if (!result->ok()) {
      CheckError(result->status(), absl::StatusCode::kInvalidArgument);
    }
  }
  if (!parameters.ok()) return;
  CheckThat(disable.ok() && disable->force == parameters->force,
            "what can be enabled can be disabled");
  const auto& schedule = parameters->schedule;
  CheckThat(!schedule.has_value() || parameters->mode == MirrorMode::kSnapshot,
            "only snapshots have a schedule");
  if (!schedule.has_value()) return;
  const auto interval = ParseInterval(schedule->interval_text);
  CheckThat(interval.ok() && *interval == schedule->interval,
            "the interval is what its text says", schedule->interval_text);
  CheckThat(schedule->start_time.empty() != schedule->start.has_value(),
            "a start time has a text", schedule->start_time);
}

void Check(absl::string_view input) {
  ParameterMap map;
  for (const absl::string_view line : absl::StrSplit(input, '\n')) {
    const auto [key, value] = SplitInput(line, "=");
    CheckDuration(value);
    CheckInterval(value);
    CheckStartTime(value);
    map[key] = value;
  }
  CheckParameters(map);
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(addons::testing::TextOf(data, size));
  return 0;
}
