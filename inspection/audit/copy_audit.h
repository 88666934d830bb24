#ifndef ADDONS_INSPECTION_AUDIT_COPY_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_COPY_AUDIT_H_

#include <cstddef>
#include <stop_token>

#include "absl/status/status.h"
#include "ceph/cluster.h"
#include "inspection/audit/audited_place.h"

namespace addons {

struct CopyAuditOptions {
  /// Objects of an image that are read to see whether they differ.
  size_t most_compared = 256;
};

/// What mirroring by snapshots leaves out: rbd-mirror copies no object that the
/// object maps of a primary call unchanged, and a rollback to a snapshot leaves
/// maps that do so of objects that it has changed. Looks at the primaries with
/// an object map and a snapshot to roll back to, at what was changed between
/// their two newest mirror snapshots (the copy lacks it) and since the newest
/// one (the next copy will lack it); what is older than these left no trace.
/// Clones are left out: AuditMirroredClones() names them.
///
/// Asks each object that is called unchanged for its snapshots, 5,000 a second,
/// and reads twice what the OSDs call changed, up to the bound. Reads only;
/// blocks as Pool. CANCELLED: `stop` was requested.
absl::Status AuditCopies(AuditedPlace& place, Cluster& cluster,
                         const CopyAuditOptions& options,
                         const std::stop_token& stop);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_COPY_AUDIT_H_
