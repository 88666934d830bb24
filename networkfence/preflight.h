#ifndef ADDONS_NETWORKFENCE_PREFLIGHT_H_
#define ADDONS_NETWORKFENCE_PREFLIGHT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/cidr.h"
#include "ceph/cluster.h"
#include "ceph/cluster_services.h"
#include "networkfence/environment.h"

namespace addons {

/// What a fence would cut off.
struct Preflight {
  /// "osd.3 at 10.0.0.5": alive, and within one of the ranges.
  std::vector<std::string> alive;
  /// What could not be looked at, and why.
  std::vector<std::string> unknown;
};

/// Looks for services that are alive within `ranges`: OSDs that are up,
/// monitors in the quorum, the active manager where the user may see it, the
/// rbd-mirror clients of this site and its peers, and this process. A daemon
/// that is down there belongs to the node that is being fenced. OSDs that do
/// not answer cost the options' patience at most and are `unknown`. Errors: the
/// monitors did not answer.
absl::StatusOr<Preflight> LookForServices(
    FenceEnvironment& environment, const std::shared_ptr<Cluster>& cluster,
    const OsdMapView& map, const std::vector<Cidr>& ranges);

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_PREFLIGHT_H_
