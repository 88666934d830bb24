#ifndef ADDONS_CEPH_BARRIER_H_
#define ADDONS_CEPH_BARRIER_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/bounded_threads.h"
#include "ceph/cluster.h"
#include "ceph/cluster_services.h"

namespace addons {

/// Takes the OSD map of this client, which knows of a blocklisting, to the
/// acting primary of every placement group of `pools`: whoever has answered
/// takes no more writes from what is blocked. Blocks for `patience` (of the
/// real clock) at most. Returns what did not answer, in words; empty: all did.
std::vector<std::string> ReachAllPrimaries(
    BoundedThreads& threads, const std::shared_ptr<Cluster>& cluster,
    const std::vector<RbdPool>& pools, std::chrono::milliseconds patience);

}  // namespace addons

#endif  // ADDONS_CEPH_BARRIER_H_
