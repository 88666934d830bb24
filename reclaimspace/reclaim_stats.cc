#include "reclaimspace/reclaim_stats.h"

namespace addons {

absl::string_view Name(ReclaimOutcome outcome) {
  switch (outcome) {
    case ReclaimOutcome::kSparsified:
      return "sparsified";
    case ReclaimOutcome::kInterrupted:
      return "interrupted";
    case ReclaimOutcome::kInUse:
      return "in-use";
    case ReclaimOutcome::kSecondary:
      return "secondary";
    case ReclaimOutcome::kSnapshots:
      return "snapshots";
    case ReclaimOutcome::kMigrating:
      return "migrating";
    case ReclaimOutcome::kErasureCoded:
      return "erasure-coded";
    case ReclaimOutcome::kOtherDaemon:
      return "other-daemon";
    case ReclaimOutcome::kStopped:
      return "stopped";
    case ReclaimOutcome::kFailed:
      break;
  }
  return "failed";
}

}  // namespace addons
