#ifndef ADDONS_REPLICATION_STEPS_DEMOTE_H_
#define ADDONS_REPLICATION_STEPS_DEMOTE_H_

#include "absl/status/status.h"
#include "operation/operation_context.h"
#include "replication/environment.h"

namespace addons {

struct DemoteRequest {
  VolumeTarget target;
  VerbScope scope = VerbScope::kVolume;
  /// A call that a workload keeps from going on may wait for its end. Not for a
  /// group that another member lets fail in any case.
  bool may_hold = true;
};

/// Makes this site's primary image a secondary, so that the peer can be
/// promoted.
///
// clang-format off
///   RunSteps()                                    see replication/steps/run_steps.h
///     See(): LookAround()  "looking at the image" <───────────────────┐
///     Judge(): DecideDemote()                  see replication/decide/demote.h
///     ├─ an answer ───────────> Answer()                              │
///     ├─ kAwaitWorkloadEnd ───> HoldForWorkload() ────────────────────┤
///     │            └─ not told ───> FAILED_PRECONDITION, AnnounceRefusal()│
///     ├─ kAwaitFollower ──────> AwaitFollower() ──────────────────────┤
///     │            └─ at its deadline ──> UNAVAILABLE, AnnounceRefusal()  │
///     ├─ kAwaitReturn ────────> AwaitWorkload() ──────────────────────┤
///     ├─ kRepair ─────────────> Repair() ─────────────────────────────┤
///     └─ kDemote ─────────────> MakeRoom(), DemotePrimary() ──────────┘
///                  ├─ no room ──> FAILED_PRECONDITION, MakeWritable() before
///                  └─ still primary, and librbd refused ──> its error
///
///   LookAround()       Look(): the image, what ceph-csi has published; FindClients()
///   Repair()           BeginMutation(), "repairing a half-done demotion": promotes it
///   HoldForWorkload()  "waiting until the workload ends", for as long as
///                      RefusalIsTold(); else some seconds, more where the
///                      client MayPass()
///   AwaitFollower()    "waiting until the peer follows this site"
///   AwaitWorkload()    "waiting whether the workload comes back"
///   MakeRoom()         MakeSnapshotRoom()
///                                  see replication/steps/ceph_faults/mirror_snapshot.h
///   DemotePrimary()    MakeWritable(), BeginMutation(), "demoting"
///                      ChangeAsSeen(): WriteNotes(), RefuseIfAny(), MirrorDemote()
///   AnnounceRefusal()      when a workload, or that nobody follows, kept it from
///                      demoting: tells the other site
// clang-format on
///
/// OK: the image was read back as not primary, and its demotion is whole (also
/// when it was so before). FAILED_PRECONDITION: replication is off, or a
/// workload has the image open (librbd would take it away from under it): the
/// first such call is answered after ReplicationOptions::first_refusal, and the
/// next ones wait for the workload's end as long as they may, without a worker;
/// or it may have no more snapshots, of which a demotion is one.
/// UNAVAILABLE: repeat the call. Idempotent.
absl::Status Demote(OperationContext& context,
                    ReplicationEnvironment& environment,
                    const DemoteRequest& request);

/// What Demote() of a volume does when it is kept from demoting: it tells the
/// other site, which otherwise takes the role from a living primary after a
/// while. Leaves a note in the image's metadata and has it copied, when there
/// is no note of the last minutes. A group calls it with what Demote() of the
/// member has answered, and its own answer; waits as AnnounceRefusal(), in
/// place. Idempotent.
absl::Status TellRefusedDemotion(OperationContext& context,
                                 ReplicationEnvironment& environment,
                                 const VolumeTarget& target,
                                 const absl::Status& member,
                                 const absl::Status& refusal);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_DEMOTE_H_
