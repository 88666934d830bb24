#ifndef ADDONS_DOCTOR_CHECK_CLUSTER_H_
#define ADDONS_DOCTOR_CHECK_CLUSTER_H_

#include <string>
#include <vector>

#include "base/clock.h"
#include "ceph/cluster.h"
#include "doctor/finding.h"
#include "volume/cluster_config.h"
#include "volume/resolved.h"

namespace addons {

/// A pool and namespace that is mirrored image by image, and what findings call
/// it.
struct MirroredPlace {
  ResolvedPlace place;
  std::string object;  // "pool 'replicapool' of cluster 'site-a'"
  bool first_of_cluster = false;
};

/// One cluster of `config`, as `user` sees it now, by this host's `clock`:
/// whether it answers and takes the key, what the user's capabilities allow of
/// what the daemon asks for, the clocks, the releases, and of each pool for RBD
/// (in the entry's namespace) whether it is mirrored image by image, has a
/// peer, an rbd-mirror that reports, and its line in cluster-mapping.json.
/// Changes nothing: of changes those are tried that cannot happen
/// (check_changes.h). Blocks, bounded by the daemon's timeouts for a question:
/// once one got no answer, the others are not asked, and one finding names
/// them. That no monitor answers is a problem. Adds the mirrored pools to
/// `mirrored`, but none of a cluster that left a question unanswered or has
/// this client on its blocklist. Of such a client, too, one finding names what
/// it could not see.
Findings CheckCluster(ClusterProvider& clusters, const ClusterConfig& config,
                      const ClusterEntry& entry, const CephUserRef& user,
                      const Clock& clock, std::vector<MirroredPlace>* mirrored);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_CLUSTER_H_
