#include "points/planned_work.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/utc.h"

namespace addons {
namespace {

constexpr char kPlanned[] = "auto-";

absl::Time PeriodOf(const PointInterval& interval, absl::Time time) {
  const absl::Duration every = absl::FromChrono(interval.every);
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), every);
}

}  // namespace

std::string PlannedName(absl::Time period) {
  return absl::StrCat(kPlanned, FormatUtcForName(period));
}

std::optional<absl::Time> PlannedPeriod(absl::string_view name) {
  absl::Time period;
  std::string error;
  if (!absl::ConsumePrefix(&name, kPlanned) ||
      !absl::ParseTime("%E4Y%m%dT%H%M%SZ", name, absl::UTCTimeZone(), &period,
                       &error) ||
      FormatUtcForName(period) != name) {
    return std::nullopt;
  }
  return period;
}

PlannedWork PlanWork(const PointPlan& plan,
                     const std::vector<ListedPoint>& points, absl::Time now) {
  PlannedWork work;
  const absl::Time period = PeriodOf(plan.front(), now);
  work.next = period + absl::FromChrono(plan.front().every);
  std::map<absl::Time, std::string> planned;
  std::optional<absl::Time> read;
  std::optional<absl::Time> of_record;
  std::set<absl::Time> kept;
  for (const ListedPoint& point : points) {
    const auto of = PlannedPeriod(point.name);
    if (of.has_value()) planned.emplace(*of, point.name);
    if (!point.recorded) continue;
    of_record = absl::FromUnixSeconds(point.made);
    // The other site may be comparing it.
    if (of.has_value()) kept.insert(*of);
  }
  // A clock that was ahead for a while has no say over what is due now.
  if (!planned.contains(period)) work.make = PlannedName(period);

  for (const PointInterval& interval : plan) {
    std::map<absl::Time, absl::Time> first;  // by period of this interval
    for (const auto& [of, name] : planned) {
      first.emplace(PeriodOf(interval, of), of);
    }
    int left = interval.keep;
    for (auto it = first.rbegin(); it != first.rend() && left > 0; ++it) {
      kept.insert(it->second);
      --left;
    }
  }
  for (const auto& [of, name] : planned) {
    if (!kept.contains(of)) work.remove.push_back(name);
  }
  if (!planned.empty()) {
    const auto& [newest, name] = *planned.rbegin();
    const PointInterval& longest = plan.back();
    const bool young = of_record.has_value() &&
                       PeriodOf(longest, *of_record) >= PeriodOf(longest, now);
    if (!young) work.read = name;
  }
  return work;
}

}  // namespace addons
