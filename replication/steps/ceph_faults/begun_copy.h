#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_BEGUN_COPY_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_BEGUN_COPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// An rbd-mirror that begins anew with a copy of which no object is noted
/// removes its incomplete snapshot, and makes another one on top of the objects
/// that it had written (16.2.15; the same in the source up to 20). What these
/// held in the last whole state was in the snapshot alone: until the second
/// copy is whole, a forced promotion would return to a mixture.
///
/// Makes the image hold what its incomplete snapshot `snapshot_id` reads as
/// again. Each object is changed in one step with the proof that it was not
/// written since it was seen, and only while the snapshot is the newest one
/// with no object noted, and nobody has the image open: an rbd-mirror that
/// opens it after that copies all of it. Ends where that ceases. Does nothing
/// where the copy brought a snapshot of a user or another size with it, or
/// nothing whole is before it.
///
/// Returns how many objects were put back. UNAVAILABLE, errno ENOSPC: the pool
/// is full. Blocks: one read for each object of the image.
absl::StatusOr<uint64_t> UndoBegunCopy(Cluster& cluster, int64_t pool_id,
                                       const std::string& rados_namespace,
                                       const std::string& image_id,
                                       uint64_t snapshot_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_BEGUN_COPY_H_
