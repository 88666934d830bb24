#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_INTERRUPTED_COPIES_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_INTERRUPTED_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"

namespace addons {

/// rbd-mirror writes down how many objects of a mirror snapshot it has copied,
/// and takes that number, when it goes on after an interruption, for the last
/// object that it has copied: it leaves one object out, whose changes never
/// arrive, and nothing says so (16.2.15; docs/replication.md, "A copy that was
/// interrupted"). Who interrupts the copying sets these numbers back by one. A
/// copy that has only begun is made anew, and what it has written before is put
/// back, see UndoBegunCopy().
///
/// Does so for all images of a pool that are in the middle of a copy, in all
/// its RADOS namespaces; only in `own_namespace` where the user may not list
/// them. Opens each image that is not known to be primary here once, read-only,
/// `at_once` at a time. A copy that goes on or ends meanwhile is left alone:
/// call it when rbd-mirror was sent away and is not back. Returns how many
/// there were. What fails is tried three times, the last time within 15 s. On
/// an error it has done what it could. Blocks.
absl::StatusOr<uint64_t> RewindInterruptedCopies(
    Cluster& cluster, int64_t pool_id, const std::string& own_namespace,
    size_t at_once);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_INTERRUPTED_COPIES_H_
