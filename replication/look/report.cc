#include "replication/look/report.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "ceph/mirror.h"

namespace addons {

namespace {

/// What does not fit is unknown: no count, time or size is so large.
std::optional<int64_t> Number(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  if (it->is_number_unsigned() &&
      it->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return std::nullopt;
  }
  constexpr double kTooLarge = 0x1p63;
  if (it->is_number_float() && !(std::abs(it->get<double>()) < kTooLarge)) {
    return std::nullopt;
  }
  return it->get<int64_t>();
}

/// Where it stands is told from the beginning, and where it begins as well.
bool TellsOfAnEntry(const nlohmann::json& object, const SyncNumbers& numbers) {
  if (!numbers.entries_behind.has_value()) return true;  // another release
  const auto position = object.find("non_primary_position");
  const auto speed = object.find("entries_per_second");
  const bool moves =
      speed != object.end() && speed->is_number() && speed->get<double>() > 0;
  return position != object.end() && !position->empty() &&
         (numbers.entries_behind == 0 || moves);
}

}  // namespace

std::string DescribeSilence(SteadyDuration age) {
  const int64_t seconds = WholeSeconds(age);
  if (seconds == 0) return "does not report any more";
  return absl::StrCat("has not reported for at least ", seconds, " s");
}

std::string DescriptionText(absl::string_view description) {
  const size_t comma = description.find(',');
  return std::string(absl::StripAsciiWhitespace(description.substr(0, comma)));
}

absl::StatusOr<std::optional<SyncNumbers>> ParseSyncNumbers(
    absl::string_view description) {
  const size_t comma = description.find(',');
  if (comma == absl::string_view::npos) return std::nullopt;
  const absl::string_view text =
      absl::StripAsciiWhitespace(description.substr(comma + 1));
  const nlohmann::json object = ParseJson(text);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the mirror status '", absl::CHexEscape(description.substr(0, 256)),
        "' does not end in a JSON object"));
  }
  SyncNumbers numbers;
  numbers.local_snapshot_time = Number(object, "local_snapshot_timestamp");
  if (numbers.local_snapshot_time == 0) numbers.local_snapshot_time.reset();
  numbers.remote_snapshot_time = Number(object, "remote_snapshot_timestamp");
  numbers.last_snapshot_bytes = Number(object, "last_snapshot_bytes");
  numbers.last_snapshot_seconds = Number(object, "last_snapshot_sync_seconds");
  numbers.syncing_percent = Number(object, "syncing_percent");
  numbers.bytes_per_snapshot = Number(object, "bytes_per_snapshot");
  numbers.bytes_per_second = Number(object, "bytes_per_second");
  numbers.entries_behind = Number(object, "entries_behind_primary");
  numbers.entries_behind_unclear = object.contains("entries_behind_primary") &&
                                   numbers.entries_behind.value_or(-1) < 0;
  numbers.entry_replayed = TellsOfAnEntry(object, numbers);
  if (const auto it = object.find("replay_state");
      it != object.end() && it->is_string()) {
    numbers.replay_state = it->get<std::string>();
  }
  return numbers;
}

std::optional<int64_t> CopiedUpTo(absl::string_view description) {
  const auto numbers = ParseSyncNumbers(description);
  if (!numbers.ok() || !numbers->has_value()) return std::nullopt;
  return (*numbers)->local_snapshot_time;
}

std::string ArrivalText(absl::string_view description) {
  const size_t comma = description.find(',');
  if (comma == absl::string_view::npos) return "";
  const absl::string_view text =
      absl::StripAsciiWhitespace(description.substr(comma + 1));
  const nlohmann::json object = ParseJson(text);
  if (!object.is_object()) return "";
  std::string arrival;
  for (const char* key :
       {"local_snapshot_timestamp", "remote_snapshot_timestamp",
        "syncing_snapshot_timestamp", "syncing_percent",
        "entries_behind_primary", "non_primary_position", "primary_position"}) {
    const auto it = object.find(key);
    if (it == object.end()) continue;
    absl::StrAppend(&arrival, key, "=", JsonText(*it), " ");
  }
  // The last one, see ShowsArrival().
  const auto speed = object.find("bytes_per_second");
  if (speed != object.end() && *speed != 0.0) {
    absl::StrAppend(&arrival, "bytes_per_second=", JsonText(*speed), " ");
  }
  return arrival;
}

bool ShowsArrival(absl::string_view before, absl::string_view now) {
  return !absl::StartsWith(before, now);
}

Says SaysOf(const SiteStatus& status) {
  switch (status.state) {
    case MirrorStatusState::kStopped:
      // Also reached when somebody stopped the replayer by hand.
      return absl::StrContains(status.description, "primary") &&
                     !absl::StrContains(status.description, "not primary") &&
                     !absl::StrContains(status.description, "non-primary")
                 ? Says::kPrimary
                 : Says::kUnclear;
    case MirrorStatusState::kUnknown:
      return Says::kNotPrimary;
    case MirrorStatusState::kSyncing:
    case MirrorStatusState::kReplaying:
    case MirrorStatusState::kStoppingReplay:
      return Says::kSecondary;
    case MirrorStatusState::kError:
      return absl::StrContains(status.description, "split-brain")
                 ? Says::kSplitBrain
                 : Says::kError;
    case MirrorStatusState::kStartingReplay:
    case MirrorStatusState::kUnrecognized:
      break;
  }
  return Says::kUnclear;
}

bool IsReplaying(const SiteStatus& status) {
  return status.state == MirrorStatusState::kReplaying ||
         status.state == MirrorStatusState::kSyncing;
}

bool IsReportedPrimary(const ImageStatuses& image) {
  return std::any_of(image.sites.begin(), image.sites.end(),
                     [](const SiteStatus& site) {
                       return site.local() && SaysOf(site) == Says::kPrimary;
                     });
}

int64_t NewestLocalReport(const std::vector<ImageStatuses>& statuses) {
  int64_t newest = 0;
  for (const ImageStatuses& image : statuses) {
    for (const SiteStatus& site : image.sites) {
      if (site.local()) newest = std::max(newest, site.last_update);
    }
  }
  return newest;
}

bool CopiesAll(const SiteStatus& status) {
  return status.state == MirrorStatusState::kSyncing;
}

bool HasReplayed(const SiteStatus& status) {
  if (status.state != MirrorStatusState::kReplaying) return false;
  const auto numbers = ParseSyncNumbers(status.description);
  return numbers.ok() && (!numbers->has_value() || (*numbers)->entry_replayed);
}

bool BehindIsUnclear(const SiteStatus& status) {
  if (!IsReplaying(status)) return false;
  const auto numbers = ParseSyncNumbers(status.description);
  if (!numbers.ok()) return true;
  return numbers->has_value() && (*numbers)->entries_behind_unclear;
}

bool IsIdle(const SiteStatus& status) {
  if (status.state != MirrorStatusState::kReplaying) return false;
  const auto numbers = ParseSyncNumbers(status.description);
  if (!numbers.ok()) return false;
  // In journal mode rbd-mirror does not say it.
  return !numbers->has_value() || (*numbers)->replay_state.empty() ||
         (*numbers)->replay_state == "idle";
}

bool IsSyncing(const SiteStatus& status) {
  if (CopiesAll(status)) return true;
  const auto numbers = ParseSyncNumbers(status.description);
  return numbers.ok() && numbers->has_value() &&
         (*numbers)->replay_state == "syncing";
}

void DropFormerPeers(const std::vector<MirrorPeer>& peers,
                     std::vector<SiteStatus>* sites) {
  std::set<std::string> known;
  for (const MirrorPeer& peer : peers) {
    if (peer.mirror_uuid.empty()) return;
    known.insert(peer.mirror_uuid);
  }
  std::erase_if(*sites, [&](const SiteStatus& site) {
    return !site.local() && !known.contains(site.mirror_uuid);
  });
}

}  // namespace addons
