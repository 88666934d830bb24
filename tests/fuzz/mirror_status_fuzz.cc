// Descriptions in mirror statuses: numbers are what the text says or absent,
// and what is not understood is taken for nothing.

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "ceph/mirror.h"
#include "replication/look/report.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace addons::testing {
namespace {

using nlohmann::json;

constexpr std::array<MirrorStatusState, 8> kStates = {
    MirrorStatusState::kUnknown,   MirrorStatusState::kError,
    MirrorStatusState::kSyncing,   MirrorStatusState::kStartingReplay,
    MirrorStatusState::kReplaying, MirrorStatusState::kStoppingReplay,
    MirrorStatusState::kStopped,   MirrorStatusState::kUnrecognized};

void CheckRoles(const std::string& description, bool understood) {
  for (const MirrorStatusState state : kStates) {
    SiteStatus status;
    status.state = state;
    status.description = description;
    const Says says = SaysOf(status);
    CheckThat(!(IsIdle(status) && IsSyncing(status)),
              "a site that copies is not idle", description);
    CheckThat(
        says != Says::kPrimary || (state == MirrorStatusState::kStopped &&
                                   absl::StrContains(description, "primary")),
        "only a site that stopped and says so is primary", description);
    CheckThat(says != Says::kSplitBrain ||
                  absl::StrContains(description, "split-brain"),
              "a split brain was reported", description);
    if (understood) continue;
    CheckThat(!IsIdle(status), "what is not understood is not idle",
              description);
    CheckThat(state == MirrorStatusState::kSyncing || !IsSyncing(status),
              "what is not understood tells of no copy", description);
  }
}

/// `number` is what `object` says under `key`, or absent.
void CheckNumber(const std::optional<int64_t>& number, const json& object,
                 const char* key) {
  const auto it = object.find(key);
  if (!number.has_value() || it == object.end() || !it->is_number()) {
    CheckThat(!number.has_value(), "a number that is not there is absent", key);
    return;
  }
  if (it->is_number_unsigned()) {
    CheckThat(
        *number >= 0 && static_cast<uint64_t>(*number) == it->get<uint64_t>(),
        "a number is the one in the text", it->dump());
  } else if (it->is_number_integer()) {
    CheckThat(*number == it->get<int64_t>(), "a number is the one in the text",
              it->dump());
  } else {
    CheckThat(std::abs(static_cast<double>(*number) -
                       std::trunc(it->get<double>())) < 1,
              "a fraction is cut off", it->dump());
  }
}

void CheckNumbers(const std::string& description, const SyncNumbers& numbers) {
  const json object = ParseJson(description.substr(description.find(',') + 1));
  CheckThat(object.is_object(), "numbers come from a JSON object", description);
  const std::pair<const char*, std::optional<int64_t>> all[] = {
      {"local_snapshot_timestamp", numbers.local_snapshot_time},
      {"remote_snapshot_timestamp", numbers.remote_snapshot_time},
      {"last_snapshot_bytes", numbers.last_snapshot_bytes},
      {"last_snapshot_sync_seconds", numbers.last_snapshot_seconds},
      {"syncing_percent", numbers.syncing_percent},
      {"entries_behind_primary", numbers.entries_behind}};
  json again = {{"replay_state", numbers.replay_state}};
  for (const auto& [key, number] : all) {
    CheckNumber(number, object, key);
    if (number.has_value()) again[key] = *number;
  }
  CheckThat(numbers.local_snapshot_time != 0, "no time is absent, not 0",
            description);

  const auto read = ParseSyncNumbers(absl::StrCat("replaying, ", again.dump()));
  CheckThat(
      read.ok() && read->has_value() &&
          (*read)->local_snapshot_time == numbers.local_snapshot_time &&
          (*read)->remote_snapshot_time == numbers.remote_snapshot_time &&
          (*read)->last_snapshot_bytes == numbers.last_snapshot_bytes &&
          (*read)->last_snapshot_seconds == numbers.last_snapshot_seconds &&
          (*read)->syncing_percent == numbers.syncing_percent &&
          (*read)->entries_behind == numbers.entries_behind &&
          (*read)->replay_state == numbers.replay_state,
      "written and read again the numbers are the same", again.dump());
}

void Check(const std::string& description) {
  const std::string text = DescriptionText(description);
  CheckThat(
      absl::StrContains(description, text) && !absl::StrContains(text, ','),
      "the text is what stands before the comma", description);
  const auto numbers = ParseSyncNumbers(description);
  CheckRoles(description, numbers.ok());
  const std::string arrival = ArrivalText(description);
  if (!numbers.ok()) {
    CheckError(numbers.status(), absl::StatusCode::kInvalidArgument, 2048);
    CheckThat(arrival.empty(), "what is not understood tells of no arrival",
              description);
  } else if (numbers->has_value()) {
    CheckNumbers(description, **numbers);
  } else {
    CheckThat(!absl::StrContains(description, ',') && arrival.empty(),
              "numbers stand behind a comma", description);
  }
}

}  // namespace
}  // namespace addons::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  addons::testing::Check(std::string(addons::testing::TextOf(data, size)));
  return 0;
}
