#include "replication/point_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/parameter_keys.h"
#include "base/status_macros.h"
#include "replication/parameters.h"

namespace addons {
namespace {

constexpr int kMostIntervals = 4;

absl::Status Invalid(const std::string& text, absl::string_view why) {
  return InvalidParameter(
      "points", text,
      absl::StrCat(
          why,
          "; an example is '1h*24,1d*7', a point each hour of which 24 "
          "stay, and one of each day of which 7 stay"));
}

}  // namespace

absl::StatusOr<PointPlan> ParsePointPlan(const std::string& text) {
  PointPlan plan;
  if (text.empty()) return plan;
  int points = 0;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> halves =
        absl::StrSplit(absl::StripAsciiWhitespace(part), '*');
    PointInterval interval;
    const auto every = ParseInterval(halves.front());
    const bool counted =
        halves.size() == 2 && !halves[1].empty() && halves[1].size() <= 3 &&
        std::all_of(halves[1].begin(), halves[1].end(), absl::ascii_isdigit) &&
        absl::SimpleAtoi(halves[1], &interval.keep) && interval.keep > 0;
    if (!every.ok() || !counted) {
      return Invalid(text,
                     "each part must be an interval (m, h or d), an asterisk, "
                     "and how many stay");
    }
    interval.every = *every;
    if (interval.every < kShortestPointInterval) {
      return Invalid(text, absl::StrCat("the shortest interval is ",
                                        kShortestPointInterval.count(), "m"));
    }
    points += interval.keep;
    plan.push_back(interval);
  }
  std::sort(plan.begin(), plan.end(),
            [](const PointInterval& a, const PointInterval& b) {
              return a.every < b.every;
            });
  for (size_t i = 1; i < plan.size(); ++i) {
    if (plan[i].every == plan[i - 1].every) {
      return Invalid(text, "an interval is there twice");
    }
  }
  if (plan.size() > kMostIntervals || points > kMostPlannedPoints) {
    return Invalid(text,
                   absl::StrCat("at most ", kMostIntervals, " intervals and ",
                                kMostPlannedPoints, " points are possible"));
  }
  return plan;
}

bool PointPlans::Set(const VolumeHandle& volume_id, Entry entry) {
  if (entry.plan.empty()) {
    plans_.erase(volume_id);
    return true;
  }
  const auto known = plans_.find(volume_id);
  if (known == plans_.end() && plans_.size() >= kMost) {
    return std::exchange(told_full_, true);
  }
  entry.renewed_at = clock_.Now();
  if (known != plans_.end()) entry.renewals = known->second.renewals + 1;
  plans_[volume_id] = std::move(entry);
  return true;
}

bool PointPlans::Note(const VolumeHandle& volume_id, const CephUserRef& user,
                      PointPlan plan) {
  const MutexLock lock(mutex_);
  return Set(volume_id, {user, std::move(plan), "", {}, 0});
}

bool PointPlans::NoteGroup(const std::string& group_id,
                           const std::vector<VolumeHandle>& members,
                           const CephUserRef& user, const PointPlan& plan) {
  const MutexLock lock(mutex_);
  const std::set<VolumeHandle> present(members.begin(), members.end());
  std::erase_if(plans_, [&](const auto& planned) {
    return planned.second.group_id == group_id &&
           !present.contains(planned.first);
  });
  bool all = true;
  for (const VolumeHandle& member : present) {
    all = Set(member, {user, plan, group_id, {}, 0}) && all;
  }
  return all;
}

void PointPlans::Drop(const VolumeHandle& volume_id) {
  const MutexLock lock(mutex_);
  plans_.erase(volume_id);
}

std::vector<PointPlans::Planned> PointPlans::All() {
  const SteadyTime now = clock_.Now();
  const MutexLock lock(mutex_);
  std::erase_if(plans_, [now](const auto& planned) {
    return planned.second.renewals >= kOfAnOperator &&
           now - planned.second.renewed_at > kForgetAfter;
  });
  std::vector<Planned> all;
  all.reserve(plans_.size());
  for (const auto& [volume_id, entry] : plans_) {
    all.push_back({volume_id, entry.user, entry.plan});
  }
  return all;
}

}  // namespace addons
