#include "operation/job_answer.h"

namespace addons {

absl::Status AbortedIfTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return absl::AbortedError(status.message());
    default:
      return status;
  }
}

}  // namespace addons
