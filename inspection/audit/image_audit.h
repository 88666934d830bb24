#ifndef ADDONS_INSPECTION_AUDIT_IMAGE_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_IMAGE_AUDIT_H_

#include <stop_token>

#include "absl/status/status.h"
#include "inspection/audit/audited_place.h"

namespace addons {

/// What stands in the way of mirrored images, or takes space for nothing: locks
/// that were taken by hand, limits of snapshots, mirror snapshots that nobody
/// needs or that wait for a site that is away, snapshots of rbd groups on
/// secondaries. Silent about what each image in step has: two or three mirror
/// snapshots, two more of its time as primary on a secondary, and up to five
/// during a copy. `whole` is the default namespace, which has the schedules.
/// Reads the header and the lock of each mirrored image, without opening it;
/// blocks as Pool. CANCELLED: `stop` was requested.
absl::Status AuditImages(AuditedPlace& place, Pool& whole,
                         const std::stop_token& stop);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_IMAGE_AUDIT_H_
