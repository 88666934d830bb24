#include "reclaimspace/reclaim_answer.h"

#include <string>

#include "base/log.h"
#include "operation/job_answer.h"

namespace addons {

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
