#ifndef ADDONS_NETWORKFENCE_BARRIER_H_
#define ADDONS_NETWORKFENCE_BARRIER_H_

#include <memory>
#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "networkfence/cluster_services.h"
#include "networkfence/environment.h"

namespace addons {

/// Takes the OSD map of this client, which knows of the fence, to the acting
/// primary of every placement group of `pools`: whoever has answered takes no
/// more writes from what is fenced. Costs the options' patience at most.
/// Returns what did not answer, in words; empty: all did.
std::vector<std::string> ReachAllPrimaries(
    FenceEnvironment& environment, const std::shared_ptr<Cluster>& cluster,
    const std::vector<RbdPool>& pools);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_BARRIER_H_
