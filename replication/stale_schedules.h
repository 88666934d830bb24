#ifndef ADDONS_REPLICATION_STALE_SCHEDULES_H_
#define ADDONS_REPLICATION_STALE_SCHEDULES_H_

#include <string>

#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/session.h"

namespace addons {

// The manager keeps the mirror snapshot schedules of images by their ids, also
// when an image is gone (each resync gives it another id), and then does not
// let them be named.

/// Removes the schedules of all image ids of the volume's pool and namespace
/// that no image has any more: what ForgetSchedulesOfId() failed to, or what
/// other programs left. At most once in ten minutes per pool and namespace; a
/// failure is logged only. Blocks for one read, and for one of each schedule.
void SweepSchedules(Session& session);

/// Removes the schedules of an image id that no image of the volume has any
/// more: the manager keeps them, and does not let them be named. A failure is
/// logged only.
void ForgetSchedulesOfId(const ResolvedVolume& volume,
                         const std::string& image_id);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STALE_SCHEDULES_H_
