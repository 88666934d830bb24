#ifndef ADDONS_VOLUME_POOLS_H_
#define ADDONS_VOLUME_POOLS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// The names of a cluster's pools by their id, from the monitors ("osd
/// lspools"), so that a pool made a moment ago is among them.
absl::StatusOr<std::map<int64_t, std::string>> ListPools(Cluster& cluster);

}  // namespace addons

#endif  // ADDONS_VOLUME_POOLS_H_
