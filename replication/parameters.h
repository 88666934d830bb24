#ifndef ADDONS_REPLICATION_PARAMETERS_H_
#define ADDONS_REPLICATION_PARAMETERS_H_

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/civil_time.h"
#include "ceph/image.h"
#include "ceph/mirror.h"
#include "replication/point_plan.h"
#include "volume/membership.h"

namespace addons {

using ParameterMap = std::map<std::string, std::string>;

/// From when the intervals of a schedule count.
struct StartTime {
  std::chrono::seconds of_day{0};     // whole minutes since midnight UTC
  std::optional<absl::CivilDay> day;  // in UTC; nullopt: none was told
  bool in_utc = true;                 // as it was told

  /// On 1970-01-01, from which the mgr counts, where no day was told.
  absl::CivilSecond Utc() const {
    return absl::CivilSecond(day.value_or(absl::CivilDay())) + of_day.count();
  }
};

/// When the mgr takes mirror snapshots of an image.
struct SnapshotSchedule {
  std::chrono::minutes interval{0};
  std::string interval_text;  // "5m", as the mgr is told or lists it
  std::string start_time;     // the same; empty: none
  std::optional<StartTime> start;
  /// From Ceph 21 on the mgr spreads those without a start time: only it knows
  /// when they run.
  bool spread = false;

  /// false: "0m", which the mgr keeps although it refuses it. Nobody wants it,
  /// and on Ceph 16 it may keep all other schedules from running.
  bool Runs() const { return interval > std::chrono::minutes(0); }

  /// Whether the mgr would keep both as the same. Up to Ceph 20 it drops a
  /// date, and *adds* the offset of another zone: what was told with one is the
  /// same as the same text only.
  friend bool operator==(const SnapshotSchedule& a, const SnapshotSchedule& b);
};

/// Has it told in UTC with a date, which every release takes and understands as
/// it was meant.
void TellInUtc(SnapshotSchedule* schedule);

/// What the parameters of a VolumeReplicationClass ask for.
struct ReplicationParameters {
  MirrorMode mode = MirrorMode::kSnapshot;
  FlattenMode flatten = FlattenMode::kNever;
  std::optional<SnapshotSchedule> schedule;  // only in snapshot mode
  Force force = Force::kNo;                  // of DisableVolumeReplication
  PointPlan points{};                        // only in snapshot mode
  /// Of PromoteVolume: the point that the image is to hold, not the newest
  /// state; empty: none. Only in snapshot mode.
  std::string restore_point{};

  /// Reads mirroringMode, flattenMode, schedulingInterval, schedulingStartTime,
  /// points, restorePoint and force; other keys are for others and ignored, but
  /// not those that differ from one of ours by case or by one letter.
  /// INVALID_ARGUMENT names the key, its value and what is allowed.
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
/// Seconds do not count: the mgr does not use them. INVALID_ARGUMENT otherwise.
absl::StatusOr<StartTime> ParseStartTime(const std::string& text);

}  // namespace addons

#endif  // ADDONS_REPLICATION_PARAMETERS_H_
