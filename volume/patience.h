#ifndef ADDONS_VOLUME_PATIENCE_H_
#define ADDONS_VOLUME_PATIENCE_H_

#include <chrono>

namespace addons {

/// How long a verb waits for volumes, groups or clusters to be found. That
/// takes milliseconds; this bounds it when a cluster is unhealthy. Nobody waits
/// longer than its caller does (OperationContext::DeadlineWithin).
inline constexpr std::chrono::seconds kFindPatience{30};
/// The same for what only reads, and may need several clusters for its answer.
inline constexpr std::chrono::seconds kReadPatience{60};

}  // namespace addons

#endif  // ADDONS_VOLUME_PATIENCE_H_
