#ifndef ADDONS_NETWORKFENCE_SERVICES_FOUND_H_
#define ADDONS_NETWORKFENCE_SERVICES_FOUND_H_

#include <string>
#include <vector>

#include "ceph/cluster_services.h"

namespace addons {

/// What a fence must not cut off by mistake.
struct ServicesFound {
  /// Alive, and where.
  std::vector<LiveService> alive;
  /// What could not be looked at, and why.
  std::vector<std::string> unknown;
};

}  // namespace addons

#endif  // ADDONS_NETWORKFENCE_SERVICES_FOUND_H_
