#ifndef ADDONS_NETWORKFENCE_LIST_FENCES_H_
#define ADDONS_NETWORKFENCE_LIST_FENCES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "networkfence/environment.h"

namespace addons {

/// ListClusterFence: all ranges and addresses that are blocked, whoever blocked
/// them, sorted and without duplicates. Without entries that have expired (one
/// that expired since the last change of the OSD map may still be listed for
/// the few seconds until the monitors drop it), and without those of single
/// clients: their addresses are not fenced.
absl::StatusOr<std::vector<Cidr>> ListFences(FenceEnvironment& environment,
                                             const FenceTarget& target);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_LIST_FENCES_H_
