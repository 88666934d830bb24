#ifndef ADDONS_RECLAIMSPACE_RECLAIM_DECISION_H_
#define ADDONS_RECLAIMSPACE_RECLAIM_DECISION_H_

#include <optional>
#include <string>

#include "reclaimspace/image_facts.h"
#include "reclaimspace/reclaim_parameters.h"
#include "reclaimspace/reclaim_stats.h"

namespace addons {

/// Why an image is left alone.
struct SkipReason {
  ReclaimOutcome outcome;
  std::string reason;
};

/// Rows from top to bottom; nullopt: it may be sparsified.
///
///   secondary of a mirrored pair                      kSecondary
///   in the middle of a migration                      kMigrating
///   erasure-coded, and an OSD of before Ceph 18       kErasureCoded
///   open somewhere, but by a daemon like this one     kOtherDaemon
///   open somewhere, or locked                         kInUse
///   has snapshots, and withSnapshots is not set       kSnapshots
///
/// A lock of a daemon like this one that does not have the image open any more
/// is what a killed predecessor left, and no obstacle.
std::optional<SkipReason> WhySkip(const ImageFacts& facts, WithSnapshots with);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_RECLAIM_DECISION_H_
