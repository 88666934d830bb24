#ifndef ADDONS_INSPECTION_AUDIT_FENCE_AUDIT_H_
#define ADDONS_INSPECTION_AUDIT_FENCE_AUDIT_H_

#include <chrono>
#include <memory>

#include "base/bounded_threads.h"
#include "base/cluster_id.h"
#include "ceph/cluster.h"
#include "inspection/audit/finding.h"

namespace addons {

/// What is asked of the blocklist.
struct FenceAuditOptions {
  /// A fence that ends within this time is a finding.
  std::chrono::seconds soon = std::chrono::hours(24);
  /// How long rbd-mirror's clients are looked for.
  std::chrono::milliseconds patience = std::chrono::seconds(5);
};

/// The fences of a cluster (entries of one client are none): those that end
/// soon or at a time that cannot be read, those that hit a service that is
/// alive (see FindServices(); metadata servers are not looked at), and what an
/// interrupted change of a fence left. Blocks as the monitor's commands, and
/// for `patience`.
AuditFindings AuditFences(BoundedThreads& threads,
                          const std::shared_ptr<Cluster>& cluster,
                          const ClusterId& cluster_id,
                          const FenceAuditOptions& options);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_FENCE_AUDIT_H_
