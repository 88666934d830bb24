#include "inspection/copy_forecast.h"

#include <algorithm>

#include "replication/look/report.h"

namespace addons {
namespace {

/// No copy of one snapshot takes that long.
constexpr int64_t kMostSeconds = int64_t{366} * 24 * 3600;

/// The part of `whole` that is left; `percent` is in 0 to 100. Rounded up.
uint64_t Rest(uint64_t whole, int64_t percent) {
  const auto left = static_cast<uint64_t>(100 - percent);
  return whole / 100 * left + (whole % 100 * left + 99) / 100;
}

std::optional<int64_t> Percent(const SyncNumbers& numbers) {
  const std::optional<int64_t> percent = numbers.syncing_percent;
  if (percent.value_or(0) < 0 || percent.value_or(0) > 100) return std::nullopt;
  return percent;
}

/// What a snapshot brings, by the mean of those before.
std::optional<uint64_t> SnapshotBytes(const SyncNumbers& numbers,
                                      uint64_t image_bytes) {
  const int64_t mean = numbers.bytes_per_snapshot.value_or(0);
  // 0 until rbd-mirror has copied one since its start.
  if (mean <= 0 || static_cast<uint64_t>(mean) > image_bytes) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(mean);
}

/// How long a snapshot takes, by the last one. Less than a second counts as
/// one: rbd-mirror tells whole seconds.
std::optional<uint64_t> SnapshotSeconds(const SyncNumbers& numbers) {
  const int64_t seconds = numbers.last_snapshot_seconds.value_or(-1);
  // No bytes: none was copied since its start.
  if (numbers.last_snapshot_bytes.value_or(0) <= 0 || seconds < 0 ||
      seconds > kMostSeconds) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(std::max<int64_t>(1, seconds));
}

bool Reports(const MirrorView& view, SteadyDuration settle) {
  return view.LocalDaemonUp() && view.local->age < settle &&
         view.local->says == Says::kSecondary;
}

}  // namespace

CopyForecast ForecastCopies(const MirrorView& view, SteadyDuration settle) {
  CopyForecast forecast;
  const MirrorSnapshot* newest = view.Newest();
  if (view.info.primary || view.info.mode != MirrorMode::kSnapshot ||
      newest == nullptr || !Reports(view, settle)) {
    return forecast;
  }
  const auto parsed = ParseSyncNumbers(view.local->status.description);
  if (!parsed.ok() || !parsed->has_value()) return forecast;
  const SyncNumbers& numbers = **parsed;
  const bool copying = IsSyncing(view.local->status) || !newest->complete;
  const bool both_known = numbers.local_snapshot_time.has_value() &&
                          numbers.remote_snapshot_time.has_value();
  const bool behind = both_known && *numbers.remote_snapshot_time >
                                        *numbers.local_snapshot_time;
  const std::optional<int64_t> percent = Percent(numbers);
  if (copying || behind) {
    forecast.missing_bytes = SnapshotBytes(numbers, view.size.bytes);
    if (!copying) {
      forecast.bytes_to_come = forecast.missing_bytes;
    } else if (forecast.missing_bytes.has_value() && percent.has_value()) {
      forecast.bytes_to_come = Rest(*forecast.missing_bytes, *percent);
    }
  } else if (both_known) {
    forecast.bytes_to_come = 0;
  }
  const std::optional<uint64_t> one = SnapshotSeconds(numbers);
  if (!one.has_value()) return forecast;
  if (!copying) {
    // What is known of there and not begun comes before the demotion.
    forecast.seconds_to_demotion = behind ? 2 * *one : *one;
  } else if (percent.has_value()) {
    const uint64_t rest = std::max<uint64_t>(1, Rest(*one, *percent));
    const bool demotion = newest->demoted() && !newest->complete;
    forecast.seconds_to_demotion = demotion ? rest : rest + *one;
  }
  return forecast;
}

}  // namespace addons
