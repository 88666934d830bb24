#ifndef ADDONS_INSPECTION_AUDIT_AUDIT_POOL_H_
#define ADDONS_INSPECTION_AUDIT_AUDIT_POOL_H_

#include <set>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "inspection/audit/copy_audit.h"
#include "inspection/audit/fence_audit.h"
#include "inspection/audit/finding.h"
#include "volume/resolved.h"

namespace addons {

/// What is looked for, and how.
struct AuditRequest {
  std::set<AuditKind> kinds;
  std::string instance_id = "default";  // the driver's --instanceid
  FenceAuditOptions fences;
  CopyAuditOptions copies;
};

/// A pool: the RADOS namespace of `place`, or, where that is the default one,
/// also all others of the pool that are mirrored; and the fences of its
/// cluster. Reads only. What cannot be looked at is a finding that is unclear.
/// Blocks, bounded by Ceph's timeouts for each question; CANCELLED: `stop` was
/// requested meanwhile.
absl::StatusOr<AuditFindings> AuditPool(BoundedThreads& threads,
                                        const ResolvedPlace& place,
                                        const AuditRequest& request,
                                        const std::stop_token& stop = {});

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_AUDIT_POOL_H_
