#ifndef ADDONS_INSPECTION_AUDIT_REPAIR_H_
#define ADDONS_INSPECTION_AUDIT_REPAIR_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "inspection/audit/audit_pool.h"
#include "inspection/audit/finding.h"
#include "lease/keeper.h"
#include "operation/operation_context.h"
#include "volume/resolved.h"

namespace addons {

enum class RepairOutcome {
  kDone,
  kNotNeeded,  // it is not found any more, or otherwise now
  kFailed,     // it may be repeated
};

/// What came of one finding.
struct RepairResult {
  AuditKind kind = AuditKind::kJournal;
  std::string object;
  std::string repair;
  RepairOutcome outcome = RepairOutcome::kFailed;
  std::string text;  // why it was not done
};

/// Carries out the repairs of those findings of `plan` that an audit finds once
/// more, in the same words, with the lease on repairs of this pool held; what
/// concerns the journal twice, some seconds apart, because a volume or group
/// that is just being made looks like a leftover. Each changes one entry of an
/// omap, in one step that does nothing where the entry is another by now; no
/// data of an image is touched. In the order of `plan`. Blocks as AuditPool();
/// ABORTED: another daemon repairs. Idempotent.
absl::StatusOr<std::vector<RepairResult>> RepairPool(OperationContext& context,
                                                     LeaseKeeper& leases,
                                                     BoundedThreads& threads,
                                                     const ResolvedPlace& place,
                                                     AuditRequest request,
                                                     const AuditFindings& plan);

}  // namespace addons

#endif  // ADDONS_INSPECTION_AUDIT_REPAIR_H_
