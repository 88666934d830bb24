#ifndef ADDONS_REPLICATION_STEPS_ENABLE_H_
#define ADDONS_REPLICATION_STEPS_ENABLE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

/// Whether an image that HalfEnabled() is said of in the look `seen` has been
/// so, unchanged, for a poll interval: an enable of a client without our lease
/// (`rbd mirror image enable`) looks the same for a moment. If not, waits that
/// long, and no longer: an rbd-mirror of this site takes an image that stays so
/// for a copy that failed, and removes it. false: look again now. Changes
/// nothing. Errors of OperationContext::LookAgainAfter().
absl::StatusOr<bool> StaysHalfEnabled(Session& session, const MirrorView& seen);

/// Takes an enable back that died in the middle, by force: no peer has a copy,
/// and there is nothing that it could copy. A mutation.
absl::Status ClearHalfEnable(Session& session);

struct EnableRequest {
  VolumeTarget target;
  ReplicationParameters parameters;
  /// kGroupMember: for the group that the volume is in (kGroupMark).
  VerbScope scope = VerbScope::kVolume;
};

/// Switches replication of a volume on; this site's image becomes primary.
///
// clang-format off
///   Run(): Look()  "looking at the image" <────────────────────────┐
///     ├─ HalfEnabled(), StaysHalfEnabled() ──> ClearHalfEnable() ──┤
///     │         "looking once more at a half-done enable"          │
///     ├─ disabling, or a resync is requested ──> WaitToLookAgain() ┘
///     ├─ on ──> CheckMode(), SweepSchedules(), RememberClone() ──> OK
///     │    └─ for its group until now: TakeOverFromGroup()
///     │         "noting that the replication is the volume's own"
///     └─ off
///          │
///        CheckPool()      FAILED_PRECONDITION: not mirrored per image, or no peer
///        PrepareParent()  of a clone: FAILED_PRECONDITION, or flattens it; see parent.h
///        BeginMutation()
///        "enabling"       NoteForWhom(), MirrorEnable()
///        Look()           UNAVAILABLE: it is not on
///        SweepSchedules()
///        CheckMode()      FAILED_PRECONDITION: somebody enabled it in the other mode
///          └──> OK
// clang-format on
///
/// OK: it is on in the wanted mode (also on a secondary). FAILED_PRECONDITION:
/// on in the other mode; the pool is not mirrored per image or has no peer; the
/// image is a clone that is to be mirrored by snapshots, or its parent cannot
/// be mirrored: the message names what helps. UNAVAILABLE: it is being disabled
/// or replaced at the moment. The schedule is set by promote. Idempotent.
absl::Status Enable(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const EnableRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_ENABLE_H_
