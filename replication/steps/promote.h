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
///   RunSteps()                                    see replication/steps/run_steps.h
///     See()     "looking at both sites" <──────────────────────────────┐
///     Judge():  DecidePromote()               see replication/decide/promote.h
///     ├─ an answer ──> Answer()                                        │
///     ├─ a wait ─────> WaitForPeer(), WaitAsPrimary() ─────────────────┤
///     └─ a step ─────> Act() ──────────────────────────────────────────┘
///
///   of a secondary
///     kPromote, kPromoteByForce, kRescue
///                        PromoteAs()        see replication/steps/become_primary.h
///     kResumeDemotionCopy
///                        ResumeDemotionCopy(), WaitForPeer()
///                                    see replication/steps/ceph_faults/demotion_copy.h
///   of a primary: what a promotion has left to do, also one that died
///     kSeeRelease        SeeRelease()
///     kSaveHalfCopy      SaveHalfCopy()               see replication/steps/ceph_faults/rescue.h
///     kMakeWritable      MakeWritable()    see replication/steps/promotion_cleanup.h
///     kRemoveHalfCopies  RemoveHalfCopies()
///     kRestore           RestoreLastComplete()
///     kRemoveRescue      RemoveRescue()
///     kRollBack          RollBack()                see replication/steps/roll_back.h
///     kCompleteSnapshot  CompleteHalfDone()
///     kYield             Yield() "demoting again" ──> UNAVAILABLE
///     kForgetDemotion    ForgetDemotion()
///     kForgetResync      RemoveStaleResyncRequest()
///     kCorrectImageId    CorrectImageId()           see replication/steps/image_id.h
///     kRememberClone     RememberClone()              see replication/steps/parent.h
///     kKeepSchedule      KeepScheduleOfRequest(): SweepSchedules()
///                                             see replication/steps/ceph_faults/stale_schedules.h
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
///
/// A site that has taken its own demotion back tells nobody that it is primary
/// before each living peer follows it: a peer that has that demotion may be
/// promoted at any moment until then. Force does not wait: who forces has
/// decided that this site is the primary. A peer that claims to be primary
/// since is UNAVAILABLE then, and nothing is demoted against a force.
absl::Status Promote(OperationContext& context,
                     ReplicationEnvironment& environment,
                     const PromoteRequest& request);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PROMOTE_H_
