#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STALE_SCHEDULES_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STALE_SCHEDULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ceph/pool.h"
#include "replication/session.h"
#include "volume/resolved.h"

namespace addons {

// The manager keeps the mirror snapshot schedules of images by their ids, also
// when an image is gone (each resync gives it another id), and then does not
// let them be named.

/// The keys of the schedules of image ids that no image of `pool` (and its
/// namespace) has any more. `whole` is its default namespace. Blocks for one
/// read, and for one of each schedule; errors are those of Pool.
absl::StatusOr<std::vector<std::string>> FindStaleSchedules(Pool& whole,
                                                            Pool& pool);

/// Removes the schedules of all image ids of the volume's pool and namespace
/// that no image has any more, whoever left them. At most once in ten minutes
/// per pool and namespace; a failure is logged only. Blocks for one read, and
/// for one of each schedule.
void SweepSchedules(Session& session);

/// Removes the schedules of an image id that a resync which has been requested
/// gives up: the manager keeps them, and does not let them be named once the
/// image is gone. A failure is logged only. Blocks for a read and a write.
void ForgetSchedulesOfId(const ResolvedVolume& volume,
                         const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STALE_SCHEDULES_H_
