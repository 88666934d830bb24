#ifndef ADDONS_REPLICATION_STEPS_PROMOTE_H_
#define ADDONS_REPLICATION_STEPS_PROMOTE_H_

#include <optional>

#include "absl/status/status.h"
#include "base/clock.h"
#include "ceph/image.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/parameters.h"

namespace addons {

struct PromoteRequest {
  VolumeTarget target;
  Force force = Force::kNo;
  ReplicationParameters parameters;
  /// In a group a member without replication is no reason to force the others.
  VerbScope scope = VerbScope::kVolume;
  /// A call that still waits then is answered, so that the reason is shown.
  /// Groups set it for all members; a volume alone gets its own.
  std::optional<SteadyTime> answer_by{};
};

/// Makes this site's image the primary one.
///
// clang-format off
///   LookAndDecide() <───────────── Wait() <──────────────────────────────┐
///     "looking at both sites"        ^                                   │
///     │                              │                                   │
///     ├─ off ────────────────────────┼──> FAILED_PRECONDITION            │
///     ├─ peer took the role back ────┼──> FAILED_PRECONDITION: forced    │
///     ├─ local rbd-mirror down ──────┤                                   │
///     ├─ copy does not follow ───────┤                                   │
///     ├─ peer primary ───────────────┼──> FAILED_PRECONDITION: forced    │
///     ├─ workload on the peer ───────┤                                   │
///     ├─ no sign of life ────────────┼──> FAILED_PRECONDITION: forced    │
///     ├─ anything else ──────────────┤                                   │
///     ├─ nothing whole, by force ────┼──> UNAVAILABLE                    │
///     │                              │                                   │
///     ├─ demotion, whole or half copy: NeedRoom() ──> UNAVAILABLE: the   │
///     │                                limit of its snapshots            │
///     ├─ demotion whole ──> TryPromote() "promoting" ─────────── busy ───┤
///     │                       by force, and busy for long: EndCopyingFirst()
///     ├─ whole copy, by force ──> PrepareForce() ─────────── not yet ────┤
///     ├─ half a copy, by force ─────┘ EndCopyingFirst(), LookIsFinal(),  │
///     │                               PrepareRescue()                    │
///     │                             └─> TryPromote() "promoting by force"┤
///     │                                 │ StillHolds() ─────── overtaken ┘
///     │                                 │
///     └─ already primary ───────────────┴─ read back as primary ──> Finish()
///
///   Finish():  SaveHalfCopy()
///              MakeWritable(), RemoveHalfCopies()     see promotion_cleanup.h
///              FinishRescue()
///              CompleteHalfDone()
///              AwaitFollowers()    only where the demotion was our own, see
///                                  take_back.h
///              RemoveMarks(), RemoveStaleResyncRequest()
///              CorrectImageId(), RememberClone()
///              SweepSchedules(), KeepSchedule() ──> OK
// clang-format on
///
/// While it waits it holds no worker, and while nothing changes in the image's
/// header the image is opened every ReplicationOptions::longest_rest only, or
/// every settled_rest (promotion_rest.h).
///
/// OK: the image was read back as primary with a complete snapshot, its
/// schedule is the wanted one. FAILED_PRECONDITION: replication is off, or
/// promoting by force is the only way (the operator does it at once).
/// UNAVAILABLE: repeat the call. Idempotent; only waits until it begins to
/// mutate.
absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PROMOTE_H_
