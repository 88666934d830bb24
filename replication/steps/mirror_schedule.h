#ifndef ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_
#define ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "operation/operation_context.h"
#include "replication/options.h"
#include "replication/parameters.h"
#include "replication/session.h"
#include "replication/verb_scope.h"

namespace addons {

// Mirror snapshot schedules of images, kept by the mgr module rbd_support under
// the image's *id*. `spec` is "pool/image" or "pool/namespace/image". Blocking
// as RunMgrCommand(); every function may be repeated.

/// The image's own schedules, not those of its pool, as the manager lists them,
/// who opens the image for it.
absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    Cluster& cluster, const std::string& spec);

/// The same from where the manager keeps them (ReadStoredSchedules()), where
/// they can be read.
absl::StatusOr<std::vector<SnapshotSchedule>> ListSchedules(
    OperationContext& context, const ReplicationOptions& options,
    const ResolvedVolume& volume, const std::string& image_id);

/// Afterwards `wanted` is the image's only schedule. Changes nothing when it is
/// so already. The new one is added before old ones go, so that there is always
/// one.
absl::Status EnsureSchedule(OperationContext& context,
                            const ReplicationOptions& options,
                            const ResolvedVolume& volume,
                            const std::string& image_id,
                            const SnapshotSchedule& wanted);

/// Afterwards the manager has these of the image as well: what is missing is
/// added, and read back.
absl::Status AddSchedules(OperationContext& context,
                          const ReplicationOptions& options,
                          const ResolvedVolume& volume,
                          const std::string& image_id,
                          const std::vector<SnapshotSchedule>& schedules);

/// The manager is told to drop these of the image's own, and no other one.
absl::Status DropSchedules(OperationContext& context,
                           const ReplicationOptions& options,
                           const ResolvedVolume& volume,
                           const std::vector<SnapshotSchedule>& schedules);

/// Afterwards the image has no schedule of its own.
absl::Status RemoveSchedules(OperationContext& context,
                             const ReplicationOptions& options,
                             const ResolvedVolume& volume,
                             const std::string& image_id);

/// The schedules that apply to an image: its own, or, where it has none, those
/// of its namespace, its pool or the whole cluster, as the manager lists them.
/// Those that do not run (SnapshotSchedule::Runs()) are left out.
/// Asks it once, and waits for it as long as Ceph's timeouts say.
struct AppliedSchedules {
  std::vector<SnapshotSchedule> own;
  std::vector<SnapshotSchedule> inherited;
  /// false: this user may not ask the manager, so that whether it is there is
  /// not known. They are as it keeps them.
  bool manager_asked = true;
};
absl::StatusOr<AppliedSchedules> ReadAppliedSchedules(
    Cluster& cluster, const std::string& spec, const std::string& image_id);

/// The image's own from where the manager keeps them; then `inherited` stays
/// empty. Where it has none, or they cannot be read, as above. Schedules mean
/// nothing while the manager is away: then its error. Whether it is there, all
/// calls ask once in a few seconds (environment.manager), and wait for that
/// until `deadline` of the real clock. But for one who may not ask it: then
/// those of the levels above as well. Blocks for reads besides.
absl::StatusOr<AppliedSchedules> ReadAppliedSchedules(
    ReplicationEnvironment& environment, const OpenedVolume& opened,
    const std::string& image_id, SteadyTime deadline);

/// The schedules of a pool and namespace, asked for at once.
struct PoolSchedules {
  std::map<std::string, std::vector<SnapshotSchedule>> own;  // by image id
  std::vector<SnapshotSchedule> inherited;
};
/// `pool_spec` is "pool/" or "pool/namespace/". Otherwise as
/// ReadAppliedSchedules().
absl::StatusOr<PoolSchedules> ReadPoolSchedules(Cluster& cluster,
                                                const std::string& pool_spec);

/// Those of the volume's namespace, pool or the whole cluster, whether the
/// image has its own or not.
absl::StatusOr<std::vector<SnapshotSchedule>> ListInheritedSchedules(
    OperationContext& context, const ReplicationOptions& options,
    const ResolvedVolume& volume);

/// The schedule that the last promote asked for, kept in the image's metadata:
/// the manager may be away just then. It stays on this site.
std::optional<SnapshotSchedule> WantedSchedule(const MirrorView& view);

/// The schedule of a volume that had replication of its own when the group that
/// it is in asked for another one: it has it again when it leaves. Travels to
/// the peer, because the group may have moved by then.
inline constexpr char kOwnScheduleMark[] = "rbd-addons.own-schedule";

/// The schedule that was asked for last, whichever site was asked: it travels,
/// so that the other site copies as often when it is promoted without one, and
/// knows how old a copy may be.
inline constexpr char kScheduleMark[] = "rbd-addons.schedule";

/// What LocalRecord::schedule holds for `wanted`.
std::string ScheduleNote(const SnapshotSchedule& wanted);

/// What has kScheduleMark say `wanted` of an image that is mirrored under
/// `global_id`.
std::string ToldSchedule(const std::string& global_id,
                         const SnapshotSchedule& wanted);

/// What kScheduleMark says in the metadata of an image that is mirrored under
/// `global_id`; nullopt: nothing, or not of this enabling.
std::optional<SnapshotSchedule> ReadScheduleMark(
    const std::map<std::string, std::string>& metadata,
    const std::string& global_id);

/// Puts `wanted`, by the volume itself or by its group, into the record of a
/// primary that `view` shows. During a pause it is kept in the place of what
/// was; one that ends is over with it. Returns what is to be written with the
/// record, of kOwnScheduleMark and kScheduleMark. Asks and changes nothing of
/// Ceph.
MetadataChanges NoteSchedule(const ResolvedVolume& volume,
                             const SnapshotSchedule& wanted, VerbScope by,
                             const MirrorView& view, LocalRecord* record);

/// EnsureSchedule() of a primary, for a promote by `user`: `wanted`, by the
/// volume itself or by its group, is written down first, and a manager that
/// does not answer within options.schedule_patience is no error: it is
/// remembered (environment.due_schedules), and SetWantedSchedule() makes up for
/// it. During a pause the manager is not told.
absl::Status KeepSchedule(Session& session, const CephUserRef& user,
                          const MirrorView& view,
                          const SnapshotSchedule& wanted, VerbScope by);

/// What a promotion has seen beside its answer, in the memory of its operation.
struct PromotionNotes {
  /// How many volumes are primary since without any mirror snapshot schedule.
  size_t without_schedule = 0;
};

/// KeepSchedule() for a promote that asks for no schedule: with what was asked
/// for last, here or on the other site. Schedules that were set by hand stay.
/// Where none is known and none applies, the log, the history and the call's
/// PromotionNotes say so of an image that was `just_promoted`; of one whose
/// schedules cannot be seen the log and the history do, and none is set.
absl::Status KeepFormerSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view, VerbScope by,
                                bool just_promoted);

/// The volume leaves its group and keeps its replication: it gets the schedule
/// back that it had before, as KeepSchedule() sets one. OK on a secondary, and
/// when there is none to restore.
absl::Status RestoreOwnSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view);

/// The same for a promote that asks for no schedule: one that has ended a pause
/// (PauseStep::kResuming) puts back what that kept. OK where none has.
absl::Status EndPauseOfPromotion(Session& session, const CephUserRef& user,
                                 const MirrorView& view);

/// EnsureSchedule() with what is written down; OK when nothing is. Of a pause
/// that was begun or ended CarryOutPause() instead. UNAVAILABLE: the manager
/// does not answer.
absl::Status SetWantedSchedule(Session& session, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_
