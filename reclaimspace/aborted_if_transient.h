#ifndef ADDONS_RECLAIMSPACE_ABORTED_IF_TRANSIENT_H_
#define ADDONS_RECLAIMSPACE_ABORTED_IF_TRANSIENT_H_

#include "absl/status/status.h"

namespace addons {

/// `status` as the operator has to hear it. After ABORTED it repeats a reclaim
/// call with growing pauses; after any other error it uses up all its tries
/// within half a second. So what may be different a little later (UNAVAILABLE,
/// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED) becomes ABORTED.
absl::Status AbortedIfTransient(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_ABORTED_IF_TRANSIENT_H_
