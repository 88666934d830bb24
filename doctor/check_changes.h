#ifndef ADDONS_DOCTOR_CHECK_CHANGES_H_
#define ADDONS_DOCTOR_CHECK_CHANGES_H_

#include <string>
#include <vector>

#include "ceph/cluster.h"
#include "ceph/cluster_services.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "doctor/cluster_report.h"

namespace addons {

// What a user may change, and which verbs fail where it may not. Nothing is
// changed: each change is tried with what does not exist or cannot be, and
// Ceph decides whether the user may before it looks at that. Refused for the
// latter, it may. Any other answer is no sign of either ("not known").

/// The blocklist of the cluster.
void CheckBlocklistChanges(Cluster& cluster, ClusterReport& report);

/// A pool, or a RADOS namespace of it, that is mirrored: its objects, the
/// schedules of its mirror snapshots, and tasks that flatten its images.
/// `object` is what findings call it.
void CheckPoolChanges(Cluster& cluster, const RbdPool& pool,
                      const std::string& rados_namespace,
                      const std::string& object, ClusterReport& report);

/// The pools that hold the data of these images of `pool`, where they are
/// others. Reads a key of each image's header, 16 at a time.
void CheckDataPoolChanges(Cluster& cluster, Pool& pool,
                          const std::vector<ImageStatuses>& images,
                          const std::string& object, ClusterReport& report);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_CHANGES_H_
