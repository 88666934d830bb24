#include "operation/lane_use.h"

#include <algorithm>

namespace addons {
namespace {

const LaneLimits& LimitsOf(const OperationLimits& limits, Lane lane) {
  switch (lane) {
    case Lane::kControl:
      return limits.control;
    case Lane::kBulk:
      return limits.bulk;
    case Lane::kRead:
      break;
  }
  return limits.read;
}

}  // namespace

std::vector<LaneUse> UseOfLanes(const OperationLimits& limits,
                                const std::vector<OperationInfo>& list) {
  std::vector<LaneUse> uses;
  for (const Lane lane : kLanes) {
    LaneUse use;
    use.lane = lane;
    use.limits = LimitsOf(limits, lane);
    for (const OperationInfo& info : list) {
      if (info.lane != lane) continue;
      ++(info.between_looks ? use.waiting
         : info.running     ? use.running
                            : use.queued);
      if (info.stuck) ++use.stuck;
      use.oldest = std::max(use.oldest, info.age);
    }
    uses.push_back(use);
  }
  return uses;
}

}  // namespace addons
