#ifndef ADDONS_OPERATION_JOB_ANSWER_H_
#define ADDONS_OPERATION_JOB_ANSWER_H_

#include "absl/status/status.h"

namespace addons {

/// `status` as the operator has to hear it that runs a job: to reclaim space or
/// to rotate a key. After ABORTED it repeats the call with growing pauses;
/// after any other error it uses up all its tries within half a second. So what
/// may be different a little later (UNAVAILABLE, DEADLINE_EXCEEDED,
/// RESOURCE_EXHAUSTED) becomes ABORTED.
absl::Status AbortedIfTransient(const absl::Status& status);

}  // namespace addons

#endif  // ADDONS_OPERATION_JOB_ANSWER_H_
