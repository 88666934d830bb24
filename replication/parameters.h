#ifndef ADDONS_REPLICATION_PARAMETERS_H_
#define ADDONS_REPLICATION_PARAMETERS_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "volume/membership.h"

namespace addons {

using ParameterMap = std::map<std::string, std::string>;

/// When the mgr takes mirror snapshots of an image.
struct SnapshotSchedule {
  std::chrono::minutes interval{0};
  std::string interval_text;  // "5m", as given to the mgr
  std::string start_time;     // as given; empty: none
  /// Seconds since midnight UTC of start_time; what the mgr keeps of it.
  std::optional<std::chrono::seconds> start_of_day;

  friend bool operator==(const SnapshotSchedule& a, const SnapshotSchedule& b) {
    return a.interval == b.interval && a.start_of_day == b.start_of_day;
  }
};

/// What the parameters of a VolumeReplicationClass ask for.
struct ReplicationParameters {
  MirrorMode mode = MirrorMode::kSnapshot;
  FlattenMode flatten = FlattenMode::kNever;
  std::optional<SnapshotSchedule> schedule;  // only in snapshot mode
  Force force = Force::kNo;                  // of DisableVolumeReplication

  /// Reads mirroringMode, flattenMode, schedulingInterval, schedulingStartTime
  /// and force; other keys are for others and ignored, but not those that
  /// differ from one of ours by case or by one letter. INVALID_ARGUMENT names
  /// the key, its value and what is allowed.
  static absl::StatusOr<ReplicationParameters> Parse(const ParameterMap& map);

  /// Reads force alone: a class with another mistake must not make resources
  /// that cannot be deleted.
  static absl::StatusOr<ReplicationParameters> ParseForDisable(
      const ParameterMap& map);
};

/// "<number><m|h|d>", not zero. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::chrono::minutes> ParseInterval(const std::string& text);

/// A time of day or date and time in ISO 8601, e.g. "14:00:00-05:00" or
/// "2026-11-20T03:00:00Z"; the date must exist; without a zone it is UTC.
/// Returns whole minutes since midnight UTC, all that the mgr uses of it and
/// keeps. INVALID_ARGUMENT otherwise.
absl::StatusOr<std::chrono::seconds> ParseStartTime(const std::string& text);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PARAMETERS_H_
