#ifndef ADDONS_DOCTOR_CHECK_CONFIGURATION_H_
#define ADDONS_DOCTOR_CHECK_CONFIGURATION_H_

#include <vector>

#include "base/cluster_id.h"
#include "doctor/finding.h"
#include "volume/config_store.h"

namespace addons {

/// config.json and cluster-mapping.json, by themselves: whether they can be
/// read, which clusters are looked at, and whether they stand for others.
/// `home` are the clusters of this site; empty: all. Reads the files; asks no
/// cluster.
Findings CheckConfiguration(ConfigStore& config,
                            const std::vector<ClusterId>& home);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_CONFIGURATION_H_
