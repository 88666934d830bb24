#ifndef ADDONS_OPERATION_LANE_USE_H_
#define ADDONS_OPERATION_LANE_USE_H_

#include <chrono>
#include <cstddef>
#include <vector>

#include "operation/operation_info.h"
#include "operation/operation_limits.h"
#include "operation/operation_spec.h"

namespace addons {

/// How full a lane is.
struct LaneUse {
  Lane lane = Lane::kControl;
  LaneLimits limits;
  size_t running = 0;  // with a worker
  size_t waiting = 0;  // between two looks
  size_t queued = 0;
  size_t stuck = 0;  // of those that run or wait: without progress
  std::chrono::milliseconds oldest{0};  // age; 0: the lane is empty
};

/// One entry for each lane, in the order of kLanes. `list` is that of the table
/// with these limits.
std::vector<LaneUse> UseOfLanes(const OperationLimits& limits,
                                const std::vector<OperationInfo>& list);

}  // namespace addons

#endif  // ADDONS_OPERATION_LANE_USE_H_
