#include "watch/watch_snapshot.h"

#include <tuple>

namespace addons {

absl::string_view Name(WatchedRole role) {
  switch (role) {
    case WatchedRole::kPrimary:
      return "primary";
    case WatchedRole::kSecondary:
      return "secondary";
    case WatchedRole::kUnclear:
      break;
  }
  return "unclear";
}

absl::string_view Name(ReplicationHealth health) {
  switch (health) {
    case ReplicationHealth::kHealthy:
      return "healthy";
    case ReplicationHealth::kDegraded:
      return "degraded";
    case ReplicationHealth::kError:
      break;
  }
  return "error";
}

absl::string_view Name(BrokenCopy reason) {
  switch (reason) {
    case BrokenCopy::kSplitBrain:
      return "split-brain";
    case BrokenCopy::kClone:
      return "clone";
    case BrokenCopy::kDamaged:
      return "damaged";
    case BrokenCopy::kRollback:
      return "rollback";
    case BrokenCopy::kRescue:
      break;
  }
  return "rescue";
}

absl::string_view Name(CopyState state) {
  switch (state) {
    case CopyState::kInStep:
      return "in step";
    case CopyState::kCopying:
      return "copying";
    case CopyState::kLate:
      return "late";
    case CopyState::kBroken:
      return "broken";
    case CopyState::kUnknown:
      break;
  }
  return "unknown";
}

bool WatchedImage::Is(BrokenCopy reason) const {
  switch (reason) {
    case BrokenCopy::kSplitBrain:
      return split_brain;
    case BrokenCopy::kClone:
      return lacks_parent;
    case BrokenCopy::kDamaged:
      return !proof.whole();
    case BrokenCopy::kRollback:
      return rolls_back;
    case BrokenCopy::kRescue:
      break;
  }
  return awaits_restore;
}

bool TroubleFirst(const WatchedImage& a, const WatchedImage& b) {
  return std::make_tuple(!a.split_brain, -static_cast<int>(a.health), a.image,
                         a.image_id) <
         std::make_tuple(!b.split_brain, -static_cast<int>(b.health), b.image,
                         b.image_id);
}

}  // namespace addons
