#ifndef ADDONS_DOCTOR_CHECK_CLUSTER_H_
#define ADDONS_DOCTOR_CHECK_CLUSTER_H_

#include "absl/time/time.h"
#include "ceph/cluster.h"
#include "doctor/finding.h"
#include "volume/cluster_config.h"

namespace addons {

/// One cluster, as `user` sees it at `now`, by this host's clock: whether it
/// answers and takes the key, what the user's capabilities allow of what the
/// daemon asks for, the clocks, and of each pool for RBD whether it is mirrored
/// image by image, has a peer, and has an rbd-mirror that reports. Reads only;
/// what would be changed is not tried. Blocks, bounded by the daemon's timeouts
/// for each question.
Findings CheckCluster(ClusterProvider& clusters, const ClusterEntry& entry,
                      const CephUserRef& user, absl::Time now);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_CLUSTER_H_
