#include "replication/steps/ceph_faults/stale_schedules.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/image_objects.h"
#include "lease/leased_context.h"
#include "replication/schedule_store.h"

namespace addons {
namespace {

/// An image has its header object for as long as it exists, in the trash as
/// well, and its id is never given again.
absl::StatusOr<bool> ImageIsGone(Pool& pool, absl::string_view image_id) {
  const absl::Status seen = pool.ListWatchers(HeaderObject(image_id)).status();
  if (absl::IsNotFound(seen)) return true;
  ADDONS_RETURN_IF_ERROR(seen);
  return false;
}

absl::Status Sweep(Session& session) {
  const ResolvedVolume& volume = session.volume;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> whole,
      volume.cluster->OpenPool(volume.pool_id, "", Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::vector<std::string> gone,
                          FindStaleSchedules(*whole, *session.reads));
  if (gone.empty()) return absl::OkStatus();
  ADDONS_RETURN_IF_ERROR(session.context.BeginMutation());
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> pool,
      volume.cluster->OpenPool(volume.pool_id, "", Access::kMutate));
  ADDONS_RETURN_IF_ERROR(pool->RemoveOmapKeys(kScheduleObject, gone));
  Log().info(
      "removed the mirror snapshot schedules of image ids that are gone "
      "pool={} levels={}",
      Quoted(whole->name()), Quoted(absl::StrJoin(gone, " ")));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindStaleSchedules(Pool& whole,
                                                            Pool& pool) {
  const std::string prefix =
      ScheduleLevelPrefix(pool.id(), pool.rados_namespace());
  std::vector<std::string> gone;
  const auto levels = whole.ReadOmap(kScheduleObject, prefix);
  if (absl::IsNotFound(levels.status())) return gone;
  ADDONS_RETURN_IF_ERROR(levels.status());
  for (const auto& [level, schedule] : *levels) {
    const std::string image_id = level.substr(prefix.size());
    if (image_id.empty()) continue;  // the namespace's own
    ADDONS_ASSIGN_OR_RETURN(const bool is_gone, ImageIsGone(pool, image_id));
    if (is_gone) gone.push_back(level);
  }
  return gone;
}

void SweepSchedules(Session& session) {
  if (!session.environment.schedule_sweeps.TryTake(PoolKey(session.volume))) {
    return;
  }
  const absl::Status swept = Sweep(session);
  // A user of a namespace alone may not look at the schedules.
  if (swept.ok() || absl::IsPermissionDenied(swept)) return;
  session.environment.schedule_sweeps.GiveBack(PoolKey(session.volume));
  if (SaysLookAgain(swept)) return;  // with the whole verb
  Log().warn("stale mirror snapshot schedules of pool={} stay: {}",
             Quoted(session.reads->name()), Quoted(swept.message()));
}

void ForgetSchedulesOfId(const ResolvedVolume& volume,
                         const std::string& image_id) {
  const auto removed = RemoveStoredSchedules(volume, image_id);
  if (!removed.ok()) {
    Log().warn(
        "the mirror snapshot schedule of an image id that goes stays "
        "volume={} id={}: {}",
        Quoted(volume.volume_id.text()), image_id,
        Quoted(removed.status().message()));
  } else if (*removed) {
    Log().info(
        "removed the mirror snapshot schedule of an image id that goes "
        "volume={} id={}",
        Quoted(volume.volume_id.text()), image_id);
  }
}

}  // namespace addons
