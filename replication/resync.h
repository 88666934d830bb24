#ifndef ADDONS_REPLICATION_RESYNC_H_
#define ADDONS_REPLICATION_RESYNC_H_

#include <string>

#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

struct ResyncRequest {
  VolumeTarget target;
  Force force = Force::kNo;
};

struct ResyncResult {
  bool ready = false;
  std::string message;  // what is being waited for, for the log
};

/// Brings this site's secondary image in step with the primary again. A resync
/// deletes this copy and copies the whole image anew, so it is requested only
/// for a split brain, by force, from a living primary, and once: librbd keeps
/// the request itself until the image is replaced. In all other cases this
/// reports.
///
/// Never waits. FAILED_PRECONDITION: replication is off, or the image is
/// primary. UNAVAILABLE: the peer or rbd-mirror that it takes is not there.
absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_RESYNC_H_
