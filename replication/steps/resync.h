#ifndef ADDONS_REPLICATION_STEPS_RESYNC_H_
#define ADDONS_REPLICATION_STEPS_RESYNC_H_

#include <string>

#include "absl/status/statusor.h"
#include "ceph/image.h"
#include "operation/operation_context.h"
#include "replication/decide/resync.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/look/timeline.h"
#include "replication/session.h"

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
/// for what a copy cannot recover from, by force, from a living primary, and
/// once: librbd keeps the request itself until the image is replaced. In all
/// other cases this reports.
///
// clang-format off
///   RunSteps()                                    see replication/steps/run_steps.h
///     See(): LookAt()  "looking at both sites" <──────────────────────┐
///     Judge(): JudgeResync(): DecideResync()   see replication/decide/resync.h
///     ├─ an answer ───────> Answer()                                  │
///     ├─ kAwaitReports ───> "waiting for both sites to report" ───────┘
///     │            └─ MayAwaitReports() says no ──> UNAVAILABLE
///     ├─ kReady ──────────> Ready() ──> ready
///     └─ kRequest ────────> Request() ──> not ready
///
///   Request()  BeginMutation(), "requesting the resync", MirrorResync()
///   Ready()    CorrectImageId(), SweepSchedules(), Remove() of a rescue image
// clang-format on
///
/// Never waits. OK, not ready: it has begun and will end by itself. Anything
/// else is an error: FAILED_PRECONDITION: replication is off, the image is
/// primary, or a person must decide (a split brain without force). UNAVAILABLE:
/// the peer or rbd-mirror that it takes is not there, has not reported yet, or
/// reports an error that may pass.
absl::StatusOr<ResyncResult> Resync(OperationContext& context,
                                    ReplicationEnvironment& environment,
                                    const ResyncRequest& request);

/// What Resync() decides from a look (nullptr: the image is absent) and from
/// the record of its rescue image, with what the timeline remembers, which is
/// told of it where that counts. Reads from the image once more where an error
/// may be a lasting one.
absl::StatusOr<Next> JudgeResync(const OpenedVolume& opened,
                                 ReplicationEnvironment& environment,
                                 Counts counts, const MirrorView* view,
                                 const std::optional<RescueRecord>& rescue,
                                 Force force);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_RESYNC_H_
