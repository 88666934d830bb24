#ifndef ADDONS_REPLICATION_STEPS_DISABLE_H_
#define ADDONS_REPLICATION_STEPS_DISABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

enum class MirroredFor { kAnything, kGroup };

struct DisableRequest {
  VolumeTarget target;
  ReplicationParameters parameters;
  /// kGroup: only what was switched on for the volume's group (kGroupMark);
  /// replication of the volume's own is left as it is, and the answer is OK.
  MirroredFor only = MirroredFor::kAnything;
};

/// Ends the replication of a volume.
///
// clang-format off
///   RunSteps()                                    see replication/steps/run_steps.h
///     See(): Look()  "looking at both sites" <────────────────────────┐
///     Judge(): DecideDisable(), ReadRescueRecord()
///               see replication/decide/disable.h, replication/look/rescue_record.h
///     ├─ an answer ─────────────> Answer()                            │
///     ├─ kWait ─────────────────> WaitToLookAgain() ──────────────────┤
///     ├─ kAwaitHalfEnable ──────> AwaitHalfEnable()   see replication/steps/enable.h
///     ├─ kForgetGroup ──────────> ForgetGroup() ──────────────────────┤
///     ├─ kKeepSchedule ─────────> RestoreOwnSchedule()
///     │                               see replication/steps/mirror_schedule.h
///     ├─ kRemoveRescue ─────────> Remove()       see replication/steps/ceph_faults/rescue.h
///     └─ kDisable, kDisableByForce, kUndoEnable ──> DisableNow() ─────┘
///
///   DisableNow()      DisableOnceMore() of one that is "disabling"
///   DisableImage()    MakeWritable()        see replication/steps/promotion_cleanup.h
///                     RemovePoints()        of a primary
///                     RemoveSchedules(), BeginMutation(), TellLeftBehind()
///                     "disabling", "disabling by force"
// clang-format on
///
/// OK: it is off and this image has no schedule any more; or this site is the
/// secondary of a living primary, then nothing is done, because the primary's
/// disable removes this copy and a forced one here would split the pair. After
/// a planned move it waits, for the settle time at most, until the living peer
/// follows, because rbd-mirror removes followers only. What a disable or enable
/// left that died in the middle is carried on, or undone. FAILED_PRECONDITION:
/// the peer is not there (or not primary either), and the parameter force:
/// "true" was not given. UNAVAILABLE: repeat the call. Idempotent.
absl::Status Disable(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const DisableRequest& request);

/// Whether a disable of the image that `view` shows waits at first, because a
/// peer that was demoted has not noticed yet. Asks Ceph, and blocks, only where
/// nobody has reported since a move.
absl::StatusOr<bool> AwaitsFollower(const OpenedVolume& opened,
                                    const MirrorView& view,
                                    SteadyDuration settle);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_DISABLE_H_
