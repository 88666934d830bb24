#ifndef ADDONS_INSPECTION_EXPLAIN_GROUP_H_
#define ADDONS_INSPECTION_EXPLAIN_GROUP_H_

#include <chrono>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "inspection/explain.h"
#include "inspection/failover_check.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

struct GroupExplanation {
  Explanation group;
  std::vector<FailoverFinding> members;
};

/// Everything that this site shows of a volume group, and what the group verbs
/// would answer now. As ExplainVolume(); opens each member a few times.
absl::StatusOr<GroupExplanation> ExplainGroup(
    OperationContext& context, ReplicationEnvironment& environment,
    const GroupHandle& group_id, const CephUserRef& user,
    std::optional<std::chrono::minutes> interval);

}  // namespace addons

#endif  // ADDONS_INSPECTION_EXPLAIN_GROUP_H_
