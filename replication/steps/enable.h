#ifndef ADDONS_REPLICATION_STEPS_ENABLE_H_
#define ADDONS_REPLICATION_STEPS_ENABLE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

/// Waits until an image that HalfEnabled() was said of has been so for a poll
/// interval, and no longer: an enable of a client without our lease (`rbd
/// mirror image enable`) looks the same for a moment, and an rbd-mirror of this
/// site takes an image that stays so for a copy that failed, and removes it.
/// Errors of OperationContext::LookAgainAfter(). CallMemory::half_enabled is
/// set.
absl::Status AwaitHalfEnable(Session& session);

struct EnableRequest {
  VolumeTarget target;
  ReplicationParameters parameters;
  /// kGroupMember: for the group that the volume is in (kGroupMark).
  VerbScope scope = VerbScope::kVolume;
};

/// Switches replication of a volume on; this site's image becomes primary.
///
// clang-format off
///   RunSteps()                                    see replication/steps/run_steps.h
///     See(): Look()  "looking at the image" <─────────────────────────┐
///     Judge(): DecideEnable()                  see replication/decide/enable.h
///     ├─ an answer ───────────> Answer(): SweepSchedules()            │
///     ├─ kWait ───────────────> WaitToLookAgain() ────────────────────┤
///     ├─ kAwaitHalfEnable ────> AwaitHalfEnable() ────────────────────┤
///     │         "looking once more at a half-done enable"             │
///     ├─ kClearHalfEnable ────> ClearHalfEnable() ────────────────────┤
///     ├─ kTakeOverFromGroup ──> TakeOverFromGroup() ──────────────────┤
///     │         "noting that the replication is the volume's own"     │
///     ├─ kRememberClone ──────> RememberClone()     see replication/steps/parent.h
///     ├─ kNoteVolume ─────────> NoteVolume() ─────────────────────────┤
///     │         "noting what the other site knows the volume by"      │
///     ├─ kKeepSchedule ───────> KeepSchedule() see replication/steps/mirror_schedule.h
///     ├─ kReadPool ───────────> ReadPool(): LackOfRoom() ─────────────┤
///     ├─ kPrepareParent ──────> PrepareParent() ──────────────────────┤
///     └─ kEnable ─────────────> EnableNow(): BeginMutation() ─────────┘
///               "enabling"        ChangeAsSeen(): NotesBefore(),
///                               MirrorEnable(), Look()
// clang-format on
///
/// OK: it is on in the wanted mode (also on a secondary). FAILED_PRECONDITION:
/// on in the other mode; the pool is not mirrored per image or has no peer; the
/// image is a clone that is to be mirrored by snapshots, or its parent cannot
/// be mirrored: the message names what helps. UNAVAILABLE: it is being disabled
/// or replaced at the moment. A schedule that it asks for is
/// set where none is noted yet; promote changes one. Idempotent.
absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_ENABLE_H_
