#include "networkfence/list_fences.h"

#include <memory>

#include "base/status_macros.h"
#include "networkfence/fence_rounds.h"

namespace addons {

absl::StatusOr<std::vector<Cidr>> ListFences(FenceEnvironment& environment,
                                             const FenceTarget& target) {
  ADDONS_ASSIGN_OR_RETURN(const std::shared_ptr<Cluster> cluster,
                          ConnectCluster(environment, target));
  ADDONS_ASSIGN_OR_RETURN(const FenceRounds::View view,
                          environment.rounds.Look(cluster));
  view->WarnOfUnreadable(target.cluster_id);
  std::vector<Cidr> ranges;
  for (const BlocklistEntry& entry : view->list.entries) {
    if (entry.kind == BlocklistEntry::Kind::kClient || view->Expired(entry)) {
      continue;
    }
    ranges.push_back(entry.Range());
  }
  return SortedUnique(std::move(ranges));
}

}  // namespace addons
