#ifndef ADDONS_DOCTOR_CHECK_CLUSTER_H_
#define ADDONS_DOCTOR_CHECK_CLUSTER_H_

#include "absl/time/time.h"
#include "ceph/cluster.h"
#include "doctor/finding.h"
#include "volume/cluster_config.h"

namespace addons {

/// One cluster of `config`, as `user` sees it at `now`, by this host's clock:
/// whether it answers and takes the key, what the user's capabilities allow of
/// what the daemon asks for, the clocks, and of each pool for RBD (in the
/// entry's namespace) whether it is mirrored image by image, has a peer, an
/// rbd-mirror that reports, and its line in cluster-mapping.json. Reads only;
/// what would be changed is not tried. Blocks, bounded by the daemon's timeouts
/// for a question: once one got no answer, the others are not asked.
Findings CheckCluster(ClusterProvider& clusters, const ClusterConfig& config,
                      const ClusterEntry& entry, const CephUserRef& user,
                      absl::Time now);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_CLUSTER_H_
