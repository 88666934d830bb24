#include "reclaimspace/trim_stats.h"

namespace addons {

absl::string_view Name(TrimOutcome outcome) {
  switch (outcome) {
    case TrimOutcome::kTrimmed:
      return "trimmed";
    case TrimOutcome::kUnsupported:
      return "unsupported";
    case TrimOutcome::kNotProved:
      return "not-proved";
    case TrimOutcome::kStopped:
      return "stopped";
    case TrimOutcome::kFailed:
      break;
  }
  return "failed";
}

}  // namespace addons
