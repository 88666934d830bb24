#ifndef ADDONS_NETWORKFENCE_FIND_SERVICES_H_
#define ADDONS_NETWORKFENCE_FIND_SERVICES_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bounded_threads.h"
#include "base/cidr.h"
#include "ceph/cluster.h"
#include "ceph/cluster_services.h"
#include "networkfence/services_found.h"

namespace addons {

/// The monitors in the quorum, and the active manager where the user may see
/// it. Errors: the monitors did not answer.
absl::StatusOr<ServicesFound> FindMonitors(Cluster& cluster);

/// The services of a cluster that are alive: `monitors`, OSDs that are up in
/// `map`, the rbd-mirror clients of this site and its peers, and this process.
/// A daemon that is down belongs to a node that is being fenced. OSDs that do
/// not answer cost `patience` at most and are `unknown`.
ServicesFound FindServices(BoundedThreads& threads,
                           const std::shared_ptr<Cluster>& cluster,
                           const OsdMapView& map, ServicesFound monitors,
                           std::chrono::milliseconds patience);

/// Which of them are within `ranges`: "osd.3 at 10.0.0.5".
std::vector<std::string> Covered(const ServicesFound& services,
                                 const std::vector<Cidr>& ranges);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_FIND_SERVICES_H_
