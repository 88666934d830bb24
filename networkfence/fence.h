#ifndef ADDONS_NETWORKFENCE_FENCE_H_
#define ADDONS_NETWORKFENCE_FENCE_H_

#include <vector>

#include "absl/status/status.h"
#include "networkfence/cidr.h"
#include "networkfence/environment.h"
#include "networkfence/parameters.h"
#include "operation/operation_context.h"

namespace addons {

struct FenceRequest {
  FenceTarget target;
  std::vector<Cidr> ranges;  // Merged()
  FenceParameters parameters;
};

/// FenceClusterNetwork:
///
///   look at the blocklist and the services -> add all ranges at once
///   -> read back, extend entries that end too early, read back again
///   -> remove helpers -> this client's map -> the OSDs' maps
///
/// OK: each range has an entry that lasts for the wanted time, read back; this
/// client's OSD map knows them; and all OSDs that answered do. Those that did
/// not are named in the log. FAILED_PRECONDITION before anything was changed:
/// a range that is not fenced yet covers services that are alive, or this Ceph
/// has no range blocklists. Any error after the first change says which ranges
/// are in force.
absl::Status Fence(OperationContext& context, FenceEnvironment& environment,
                   const FenceRequest& request);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FENCE_H_
