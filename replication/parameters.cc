#include "replication/parameters.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"
#include "replication/look/point.h"

namespace addons {
namespace {

constexpr char kMirroringMode[] = "mirroringMode";
constexpr char kFlattenMode[] = "flattenMode";
constexpr char kInterval[] = "schedulingInterval";
constexpr char kStartTime[] = "schedulingStartTime";
constexpr char kForce[] = "force";
constexpr char kPoints[] = "points";
constexpr char kRestorePoint[] = "restorePoint";
constexpr char kGroupReplication[] = "groupReplication";  // see group/enable.h

const std::string* Find(const ParameterMap& map, const char* key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : &it->second;
}

absl::StatusOr<MirrorMode> ParseMode(const ParameterMap& map) {
  const std::string* value = Find(map, kMirroringMode);
  if (value == nullptr || *value == "snapshot") return MirrorMode::kSnapshot;
  if (*value == "journal") return MirrorMode::kJournal;
  return InvalidParameter(kMirroringMode, *value,
                          "must be 'snapshot' or 'journal'");
}

absl::StatusOr<FlattenMode> ParseFlatten(const ParameterMap& map) {
  const std::string* value = Find(map, kFlattenMode);
  if (value == nullptr) return FlattenMode::kNever;
  if (const auto known = ToFlattenMode(*value)) return *known;
  return InvalidParameter(kFlattenMode, *value, "must be 'never' or 'force'");
}

absl::StatusOr<Force> ParseForce(const ParameterMap& map) {
  const std::string* value = Find(map, kForce);
  if (value == nullptr) return Force::kNo;
  bool force = false;
  // The spellings that ceph-csi accepts: 1, t, T, true, TRUE, True and
  // opposites.
  if (*value == "1" || *value == "0" || *value == "t" || *value == "T" ||
      *value == "f" || *value == "F" || absl::SimpleAtob(*value, &force)) {
    if (value->size() == 1)
      force = *value == "1" || *value == "t" || *value == "T";
    return force ? Force::kYes : Force::kNo;
  }
  return InvalidParameter(kForce, *value, "must be 'true' or 'false'");
}

absl::StatusOr<std::optional<SnapshotSchedule>> ParseSchedule(
    const ParameterMap& map) {
  const std::string* interval = Find(map, kInterval);
  const std::string* start = Find(map, kStartTime);
  if (interval == nullptr) {
    if (start != nullptr && !start->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", kStartTime, "' needs '", kInterval, "'"));
    }
    return std::nullopt;
  }
  SnapshotSchedule schedule;
  ADDONS_ASSIGN_OR_RETURN(schedule.interval, ParseInterval(*interval));
  schedule.interval_text = *interval;
  if (start != nullptr && !start->empty()) {
    ADDONS_ASSIGN_OR_RETURN(schedule.start, ParseStartTime(*start));
    TellInUtc(&schedule);
  }
  return schedule;
}

}  // namespace

absl::StatusOr<ReplicationParameters> ReplicationParameters::Parse(
    const ParameterMap& map) {
  ADDONS_RETURN_IF_ERROR(CheckParameterKeys(
      map, {kMirroringMode, kFlattenMode, kInterval, kStartTime, kPoints,
            kRestorePoint, kForce, kGroupReplication}));
  ReplicationParameters parameters;
  ADDONS_ASSIGN_OR_RETURN(parameters.mode, ParseMode(map));
  ADDONS_ASSIGN_OR_RETURN(parameters.flatten, ParseFlatten(map));
  ADDONS_ASSIGN_OR_RETURN(parameters.force, ParseForce(map));
  // Checked in journal mode too: a typo should not wait for a change of mode.
  ADDONS_ASSIGN_OR_RETURN(parameters.schedule, ParseSchedule(map));
  if (parameters.mode == MirrorMode::kJournal) parameters.schedule.reset();
  if (const std::string* points = Find(map, kPoints)) {
    ADDONS_ASSIGN_OR_RETURN(parameters.points, ParsePointPlan(*points));
    if (!parameters.points.empty() && parameters.mode == MirrorMode::kJournal) {
      return InvalidParameter(
          kPoints, *points,
          "needs mirroringMode 'snapshot': in journal mode nothing "
          "tells that a point is whole at the other site");
    }
  }
  if (const std::string* point = Find(map, kRestorePoint)) {
    if (!CheckPointName(*point).ok()) {
      return InvalidParameter(kRestorePoint, *point,
                              "must be the name of a point (`rbd-addons point "
                              "list`)");
    }
    if (parameters.mode == MirrorMode::kJournal) {
      return InvalidParameter(
          kRestorePoint, *point,
          "needs mirroringMode 'snapshot': there are no points in journal "
          "mode");
    }
    parameters.restore_point = *point;
  }
  return parameters;
}

absl::StatusOr<ReplicationParameters> ReplicationParameters::ParseForDisable(
    const ParameterMap& map) {
  ReplicationParameters parameters;
  ADDONS_ASSIGN_OR_RETURN(parameters.force, ParseForce(map));
  return parameters;
}

absl::StatusOr<std::chrono::minutes> ParseInterval(const std::string& text) {
  static const char kAllowed[] =
      "must be a number above zero and m, h or d, for example '5m'";
  int count = 0;
  // SimpleAtoi would forgive blanks and signs.
  const bool digits =
      text.size() >= 2 && text.size() <= 7 &&
      std::all_of(text.begin(), text.end() - 1,
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!digits || !absl::SimpleAtoi(text.substr(0, text.size() - 1), &count) ||
      count <= 0) {
    return InvalidParameter(kInterval, text, kAllowed);
  }
  switch (text.back()) {
    case 'm':
      return std::chrono::minutes(count);
    case 'h':
      return std::chrono::hours(count);
    case 'd':
      return std::chrono::hours(24 * count);
    default:
      return InvalidParameter(kInterval, text, kAllowed);
  }
}

absl::StatusOr<StartTime> ParseStartTime(const std::string& text) {
  static const std::regex kFormat(
      R"((?:(\d{4})-(\d{2})-(\d{2})[T ])?)"
      R"((\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?)"
      R"((?:(Z|z)|([+-])(\d{2}):?(\d{2}))?)");
  enum Group {
    kYear = 1,
    kMonth,
    kDayOfMonth,
    kHour,
    kMinute,
    kSecond,
    kUtc,
    kSign,
    kZoneHour,
    kZoneMinute
  };
  std::smatch match;
  bool valid = text.size() <= 64 && std::regex_match(text, match, kFormat);
  const auto number = [&](Group group) {
    int value = 0;
    if (valid && match[group].matched) {
      valid = absl::SimpleAtoi(match[group].str(), &value);
    }
    return value;
  };
  absl::CivilDay date;  // 1970-01-01, from which the mgr counts without one
  const bool dated = valid && match[kYear].matched;
  if (dated) {
    const int year = number(kYear), month = number(kMonth),
              day = number(kDayOfMonth);
    // A date that does not exist is changed into one that does.
    date = absl::CivilDay(year, month, day);
    valid = year > 0 && date.month() == month && date.day() == day;
  }
  const int hours = number(kHour), minutes = number(kMinute),
            seconds = number(kSecond), zone_hours = number(kZoneHour),
            zone_minutes = number(kZoneMinute);
  if (!valid || hours > 23 || minutes > 59 || seconds > 59 || zone_hours > 23 ||
      zone_minutes > 59) {
    return InvalidParameter(
        kStartTime, text,
        "must be a time of day, or a date that exists with one, in ISO 8601, "
        "for example '14:00:00-05:00' or '2026-11-20T03:00:00Z'");
  }
  int offset = zone_hours * 60 + zone_minutes;
  if (match[kSign].str() == "-") offset = -offset;
  const absl::CivilMinute utc =
      absl::CivilMinute(date.year(), date.month(), date.day(), hours, minutes) -
      offset;
  StartTime start;
  start.of_day =
      std::chrono::hours(utc.hour()) + std::chrono::minutes(utc.minute());
  if (dated) start.day = absl::CivilDay(utc);
  start.in_utc = offset == 0;
  return start;
}

bool operator==(const SnapshotSchedule& a, const SnapshotSchedule& b) {
  if (a.interval != b.interval) return false;
  if (!a.start.has_value() || !b.start.has_value()) {
    return a.start.has_value() == b.start.has_value();
  }
  if (!a.start->in_utc || !b.start->in_utc) return a.start_time == b.start_time;
  const bool same_day = !a.start->day.has_value() ||
                        !b.start->day.has_value() ||
                        *a.start->day == *b.start->day;
  return a.start->of_day == b.start->of_day && same_day;
}

void TellInUtc(SnapshotSchedule* schedule) {
  if (!schedule->start.has_value()) return;
  StartTime& start = *schedule->start;
  start.day = absl::CivilDay(start.Utc());
  start.in_utc = true;
  schedule->start_time =
      absl::StrCat(absl::FormatCivilTime(start.Utc()), "+00:00");
}

}  // namespace addons
