#ifndef ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_
#define ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_

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

/// The schedule that the last promote asked for, kept in the image's metadata:
/// the manager may be away just then. It stays on this site.
std::optional<SnapshotSchedule> WantedSchedule(const MirrorView& view);

/// The schedule of a volume that had replication of its own when the group that
/// it is in asked for another one: it has it again when it leaves. Travels to
/// the peer, because the group may have moved by then.
inline constexpr char kOwnScheduleMark[] = "rbd-addons.own-schedule";

/// Notes `wanted`, by the volume itself or by its group, in the record of a
/// primary that is open anyway, which is written afterwards. Sees to
/// kOwnScheduleMark before: `view` shows the schedule until then. On an error,
/// which is one of Image, the record is as it was; may be repeated.
absl::Status NoteSchedule(Image& image, const ResolvedVolume& volume,
                          const SnapshotSchedule& wanted, VerbScope by,
                          MirrorView* view, LocalRecord* record);

/// EnsureSchedule() of a primary, for a promote by `user`: `wanted`, by the
/// volume itself or by its group, is written down first, and a manager that
/// does not answer within options.schedule_patience is no error: it is
/// remembered (environment.due_schedules), and SetWantedSchedule() makes up for
/// it.
absl::Status KeepSchedule(Session& session, const CephUserRef& user,
                          const MirrorView& view,
                          const SnapshotSchedule& wanted, VerbScope by);

/// The volume leaves its group and keeps its replication: it gets the schedule
/// back that it had before, as KeepSchedule() sets one. OK on a secondary, and
/// when there is none to restore.
absl::Status RestoreOwnSchedule(Session& session, const CephUserRef& user,
                                const MirrorView& view);

/// EnsureSchedule() with what is written down; OK when nothing is. UNAVAILABLE:
/// the manager does not answer.
absl::Status SetWantedSchedule(Session& session, const MirrorView& view);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_MIRROR_SCHEDULE_H_
