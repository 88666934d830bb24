#ifndef ADDONS_NETWORKFENCE_FENCE_H_
#define ADDONS_NETWORKFENCE_FENCE_H_

#include <vector>

#include "absl/status/status.h"
#include "base/cidr.h"
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
// clang-format off
///   ConnectCluster()  "connecting"
///   Await()           the turn of these ranges
///   Look()            "looking at the blocklist"    NoRangeBlocklists(): FAILED_PRECONDITION
///   CheckServices()   "looking for services in the ranges"
///                                                   LookForServices(): FAILED_PRECONDITION
///   -- BeginMutation(): nothing is changed above this line --
///   Change()          "adding entries"              AdoptHelpers(), AddEntries(): all at once
///                     "reading back"                ReadBack(): what is there, and all OSDs know it
///                                                   ExtendEntries(): those that end too early
///                     StandBeside()                 an entry of its own where the one that is
///                                                   there may be ceph-csi's: MayBeAutomatic();
///                                                   ReplaceEntries(): one that ends too early
///                     "removing helper entries"     RemoveHelpers()
///   Spread()          "waiting for the OSDs to know it": where entries were made after that
///   AfterFailure()    of an error after the first change: which ranges are in force
// clang-format on
///
/// OK: each range has an entry that lasts for the wanted time, and that nobody
/// lifts unasked, read back; this client's OSD map knows them; and all OSDs
/// that answered do. Those that did not are named in the log.
/// FAILED_PRECONDITION before anything was changed: a range that is not fenced
/// yet covers services that are alive, or this Ceph has no range blocklists.
/// Any error after the first change says which ranges are in force.
absl::Status Fence(OperationContext& context, FenceEnvironment& environment,
                   const FenceRequest& request);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FENCE_H_
