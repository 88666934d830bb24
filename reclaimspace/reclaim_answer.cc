#include "reclaimspace/reclaim_answer.h"

#include <string>

#include "base/log.h"

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

absl::Status AnswerFor(const absl::Status& error, bool caller_left,
                       const std::string& object) {
  if (!absl::IsCancelled(error) || caller_left) {
    return AbortedIfTransient(error);
  }
  Log().info("reclaim of {} ends without a result: {}", object,
             std::string(error.message()));
  return absl::OkStatus();
}

}  // namespace addons
