#include "tests/integration/crash_points.h"

#include <algorithm>
#include <map>

namespace addons::testing {
namespace {

using Calls = std::vector<std::string>;

// A verb that waits makes the same calls at each look: further deaths there are
// in no other state.
constexpr int kMostOfACall = 12;

std::map<std::string, int> CountsOf(const Calls& calls) {
  std::map<std::string, int> counts;
  for (const std::string& call : calls) ++counts[call];
  return counts;
}

}  // namespace

std::vector<CrashPoint> PointsOf(const std::vector<Calls>& runs) {
  std::map<std::string, int> counts = CountsOf(runs.front());
  for (const Calls& run : runs) {
    const auto others = CountsOf(run);
    for (auto& [call, count] : counts) {
      const auto found = others.find(call);
      count = std::min(count, found == others.end() ? 0 : found->second);
    }
  }
  std::vector<CrashPoint> points;
  for (const auto& [call, count] : counts) {
    for (int nth = 1; nth <= std::min(count, kMostOfACall); ++nth) {
      points.push_back({call, nth, false});
      points.push_back({call, nth, true});
    }
  }
  return points;
}

CrashReach ReachOf(const CrashPoint& point,
                   const std::vector<CrashTry>& tries) {
  const auto died = [](const CrashTry& one) { return one.died; };
  const auto ended_before = [&point](const CrashTry& one) {
    const auto made =
        std::count(one.calls.begin(), one.calls.end(), point.call);
    return one.ok && made > 0 && made < point.nth;
  };
  if (std::any_of(tries.begin(), tries.end(), died)) return CrashReach::kDied;
  if (!tries.empty() && std::all_of(tries.begin(), tries.end(), ended_before)) {
    return CrashReach::kEndedBefore;
  }
  return CrashReach::kNeverReached;
}

}  // namespace addons::testing
