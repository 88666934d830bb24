#ifndef ADDONS_INSPECTION_CLONE_AUDIT_H_
#define ADDONS_INSPECTION_CLONE_AUDIT_H_

#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "replication/look/mirrored_clone.h"

namespace addons {

/// A mirrored image whose copy on the other site is not whole.
struct CloneFinding {
  std::string image;  // "pool/image" or "pool/namespace/image"
  CloneState state = CloneState::kWhole;
  std::string text;  // what is lost, and the repair
};

/// All images of a pool and RADOS namespace that are mirrored by snapshots and
/// are clones, or were flattened while they were mirrored (of those only what
/// this daemon has noted, see mirrored_clone.h), by image id. Reads only; opens
/// each mirrored image once, which takes some milliseconds. An image that goes
/// away meanwhile is left out. Errors are those of Pool; blocks as Pool.
/// CANCELLED: `stop` was requested meanwhile.
absl::StatusOr<std::vector<CloneFinding>> AuditMirroredClones(
    Pool& pool, const std::stop_token& stop = {});

}  // namespace addons

#endif  // ADDONS_INSPECTION_CLONE_AUDIT_H_
