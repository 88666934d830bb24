#include "points/planned_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/utc.h"

namespace addons {
namespace {

constexpr char kPlanned[] = "auto-";
constexpr size_t kMarkLength = 6;
constexpr size_t kTimeLength = 16;  // FormatUtcForName()

absl::Time PeriodOf(std::chrono::minutes every, absl::Time time) {
  return absl::UnixEpoch() +
         absl::Floor(time - absl::UnixEpoch(), absl::FromChrono(every));
}

/// Those of `planned`, by time, that an interval keeps.
std::set<absl::Time> KeptOf(const PointPlan& plan,
                            const std::map<absl::Time, std::string>& planned) {
  std::set<absl::Time> kept;
  for (const PointInterval& interval : plan) {
    std::map<absl::Time, absl::Time> first;  // by period of this interval
    for (const auto& [time, name] : planned) {
      first.emplace(PeriodOf(interval.every, time), time);
    }
    int left = interval.keep;
    for (auto it = first.rbegin(); it != first.rend() && left > 0; ++it) {
      kept.insert(it->second);
      --left;
    }
  }
  return kept;
}

}  // namespace

std::string SiteMark(absl::string_view mirror_uuid) {
  std::string mark(mirror_uuid.substr(0, kMarkLength));
  for (char& c : mark) {
    const auto byte = static_cast<unsigned char>(c);
    c = absl::ascii_isalnum(byte) ? absl::ascii_tolower(byte) : '0';
  }
  mark.resize(kMarkLength, '0');
  return mark;
}

std::string PlannedName(const PlannedMoment& moment) {
  return absl::StrCat(kPlanned, FormatUtcForName(moment.time), "-",
                      moment.site);
}

std::optional<PlannedMoment> ParsePlannedName(absl::string_view name) {
  const absl::string_view whole = name;
  PlannedMoment moment;
  std::string error;
  if (!absl::ConsumePrefix(&name, kPlanned) ||
      name.size() != kTimeLength + 1 + kMarkLength ||
      !absl::ParseTime("%E4Y%m%dT%H%M%SZ", name.substr(0, kTimeLength),
                       absl::UTCTimeZone(), &moment.time, &error)) {
    return std::nullopt;
  }
  moment.site = std::string(name.substr(kTimeLength + 1));
  if (SiteMark(moment.site) != moment.site || PlannedName(moment) != whole) {
    return std::nullopt;
  }
  return moment;
}

PlannedWork PlanWork(const PointPlan& plan,
                     const std::vector<ListedPoint>& points,
                     const std::string& site, absl::Time now) {
  PlannedWork work;
  const std::chrono::minutes every = plan.front().every;
  const absl::Time period = PeriodOf(every, now);
  work.next = period + absl::FromChrono(every);
  std::map<absl::Time, std::string> planned;
  std::optional<absl::Time> of_record;
  std::string recorded;
  for (const ListedPoint& point : points) {
    if (point.recorded) {
      of_record = absl::FromUnixSeconds(point.made);
      recorded = point.name;
    }
    const auto moment = ParsePlannedName(point.name);
    if (!moment.has_value()) continue;
    const bool ahead = moment->time >= now + absl::FromChrono(every);
    if (moment->site == site && !ahead) {
      planned.emplace(moment->time, point.name);
    } else if (!point.recorded) {
      work.remove.push_back(point.name);
    }
  }
  if (planned.lower_bound(period) == planned.end()) {
    work.make = PlannedName({now, site});
  }
  const std::set<absl::Time> kept = KeptOf(plan, planned);
  for (const auto& [time, name] : planned) {
    if (!kept.contains(time) && name != recorded) work.remove.push_back(name);
  }
  const auto longest = std::max<std::chrono::minutes>(plan.back().every,
                                                      kShortestRecordInterval);
  const bool young = of_record.has_value() &&
                     PeriodOf(longest, *of_record) >= PeriodOf(longest, now);
  if (!young && !kept.empty()) work.read = planned.at(*kept.rbegin());
  return work;
}

}  // namespace addons
