#ifndef ADDONS_REPLICATION_STEPS_PAUSE_H_
#define ADDONS_REPLICATION_STEPS_PAUSE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operation/operation_context.h"
#include "replication/environment.h"
#include "replication/look/mirror_view.h"
#include "replication/options.h"
#include "replication/parameters.h"
#include "replication/session.h"

namespace addons {

// A volume's mirror snapshot schedules are taken from Ceph's manager for a
// while, and kept in the image's local record (LocalRecord::pause). Replication
// stays on; what makes mirror snapshots for another reason still does.

/// How the schedules of a volume are after a pause or resume.
struct PauseReport {
  bool changed = false;          // by this call, or one that it has joined
  std::optional<int64_t> since;  // paused since, unix seconds; nullopt: it runs
  /// What is kept, or was put back, as "every 5m"; empty: nothing is known.
  std::string schedules;
  std::string message;  // for a person
};

/// Keeps the image's own schedules aside, and takes them from the manager.
///
// clang-format off
///   Pause(): LookAtPrimary()         see replication/steps/primary_only.h
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ ListInheritedSchedules() finds any ─────> FAILED_PRECONDITION
///     ├─ ListSchedules(), WantedSchedule(),
///     │  KeptSchedules() find none ──────────────> FAILED_PRECONDITION
///     ├─ paused, and the manager has none ───────> OK, nothing is done
///     └─ BeginMutation()
///        "keeping the mirror snapshot schedule aside"
///            WriteLocalRecord()  kPausing <─── a call that dies from here on
///        CarryOutPause()                        is gone on with by the next
///          "taking the mirror snapshot schedule from the manager"
///            DropSchedules(), ListSchedules()  read back
///            WriteLocalRecord()  kPaused ────────> OK
///
///   Resume(): LookAtPrimary()
///     ├─ off, secondary, journal mode ───────────> FAILED_PRECONDITION
///     ├─ not paused ─────────────────────────────> OK, nothing is done
///     └─ BeginMutation()
///        "ending the pause of the mirror snapshot schedule"
///            WriteLocalRecord()  kResuming <── likewise; also the upkeep
///        CarryOutPause()
///            AddSchedules()      read back
///            WriteLocalRecord()  no pause ───────> OK
// clang-format on
///
/// FAILED_PRECONDITION: as above; a schedule of the namespace, pool or cluster
/// applies, which cannot be paused for one volume. NOT_FOUND: no such volume,
/// or its image is gone. UNAVAILABLE: the manager does not answer, or somebody
/// sets schedules meanwhile. Idempotent: what is paused stays paused since
/// then.
absl::StatusOr<PauseReport> PauseSchedules(OperationContext& context,
                                           ReplicationEnvironment& environment,
                                           const VolumeTarget& target);

/// Puts back what was kept, as it was; what the manager has got besides stays.
/// Errors as those of PauseSchedules(). Idempotent.
absl::StatusOr<PauseReport> ResumeSchedules(OperationContext& context,
                                            ReplicationEnvironment& environment,
                                            const VolumeTarget& target);

/// Goes on with a pause that was begun, or ended: OK where that is done. `view`
/// shows it; a primary in snapshot mode. UNAVAILABLE: the manager does not
/// answer within options.mgr_patience, or what is kept is written in a way that
/// this version does not know.
absl::Status CarryOutPause(Session& session, const MirrorView& view,
                           const ReplicationOptions& options);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_PAUSE_H_
