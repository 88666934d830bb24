#ifndef ADDONS_NETWORKFENCE_UNFENCE_H_
#define ADDONS_NETWORKFENCE_UNFENCE_H_

#include <vector>

#include "absl/status/status.h"
#include "base/cidr.h"
#include "networkfence/environment.h"
#include "networkfence/parameters.h"
#include "operation/operation_context.h"

namespace addons {

struct UnfenceRequest {
  FenceTarget target;
  std::vector<Cidr> ranges;  // SortedUnique()
  FenceParameters parameters;
};

/// UnfenceClusterNetwork: removes the entries that block exactly the ranges, in
/// every spelling (a range, also with host bits; the one-address form), and
/// what an interrupted fence of them left behind; reads back.
///
// clang-format off
///   ConnectCluster()  "connecting"
///   Await()           the turn of these ranges
///   Look()            "looking at the blocklist"
///   MakePlan()        PlanMarkers()               what an interrupted fence left behind
///                     PlanEntry()                 remove, keep, or a wider one
///   -- BeginMutation(): nothing is changed above this line --
///   RemoveAll()       "removing entries"          entries and helpers, then the markers
///   CheckGone()                                   UNAVAILABLE: one is there again
///   a wider entry is left: FAILED_PRECONDITION, otherwise OK
// clang-format on
///
/// Entries within the ranges stay, unless removeContained; entries of single
/// clients within them stay, unless removeClientEntries; both are named in the
/// log. OK also when there was nothing to remove. FAILED_PRECONDITION, after
/// the removal: a wider entry still blocks a range; it is named and never
/// touched. UNAVAILABLE: an entry is there again, or still.
absl::Status Unfence(OperationContext& context, FenceEnvironment& environment,
                     const UnfenceRequest& request);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_UNFENCE_H_
