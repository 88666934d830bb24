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
///   Run(): Look()  "looking at both sites" <────────────────────────────────┐
///     Decide(): DecideDisable()     replication/decide/disable.h            │
///     ├─ off ──> ForgetGroup() ──> OK                                       │
///     ├─ for the group only, and not MirroredForGroup() ──> OK              │
///     ├─ disabling ──> CarryOn(): DecideCarryOn()                           │
///     │    ├─ it changes, or AtWork() ──> WaitToLookAgain() ────────────────┤
///     │    ├─ CarryOnNeedsForce(), without force ──> FAILED_PRECONDITION    │
///     │    ├─ carried on a few times ──> UNAVAILABLE                        │
///     │    └─ DisableOnceMore(): DisableImage() ────────────────────────────┤
///     ├─ primary                                                            │
///     │    ├─ AwaitsFollower(), for less than the settle time               │
///     │    │    ──> WaitToLookAgain() ──────────────────────────────────────┤
///     │    └─ else ──> DisableImage() ──────────────────────────────────────┤
///     ├─ after a forced disable ──> UNAVAILABLE: still mirrored             │
///     ├─ HalfEnabled(), and StaysHalfEnabled()  enable.h                    │
///     │    ──> DisableImage() by force ─────────────────────────────────────┤
///     └─ secondary ──> DecideSecondary()                                    │
///          ├─ of a living primary ──> OK, nothing is done                   │
///          ├─ neither ImageShowsNoLife() nor a peer that says for           │
///          │    good that it is not primary ──> WaitToLookAgain() ──────────┤
///          ├─ without force ──> FAILED_PRECONDITION                         │
///          └─ by force ──> DisableImage() by force ─────────────────────────┘
///
///   DisableImage()    RefuseNow(): RefuseToDisable()   UNAVAILABLE: an unfinished
///                                                      rescue, or a user's snapshot
///                       ReadObstacle()                 UNAVAILABLE: a lock taken by
///                                                      hand, or mirrored clones
///                     MakeWritable()                     promotion_cleanup.h
///                     RemoveSchedules()
///                     BeginMutation()
///                     TellLeftBehind()
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
