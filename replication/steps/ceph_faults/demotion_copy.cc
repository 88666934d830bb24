#include "replication/steps/ceph_faults/demotion_copy.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "ceph/cluster.h"
#include "ceph/image_objects.h"
#include "ceph/pool.h"
#include "replication/steps/ceph_faults/begun_copy.h"
#include "replication/steps/ceph_faults/stored_copy.h"

namespace addons {
namespace {

bool SameCopy(const MirrorSnapshot& one, const MirrorSnapshot& other) {
  return one.id == other.id && one.kind == other.kind &&
         one.complete == other.complete &&
         one.last_copied_object == other.last_copied_object;
}

/// The record of `copy`; empty: the copy is another one by now.
absl::StatusOr<std::string> RecordOf(Pool& reads, const std::string& image_id,
                                     const MirrorSnapshot& copy) {
  ADDONS_ASSIGN_OR_RETURN(auto now, ReadStoredCopy(reads, image_id, copy.id));
  return now.has_value() && SameCopy(now->snapshot, copy)
             ? std::move(now->record)
             : std::string();
}

/// Each step changes nothing unless the snapshot is still what was seen. false:
/// it is not, or somebody has the image open.
absl::StatusOr<bool> SetKind(const ResolvedVolume& volume,
                             const std::string& image_id, MirrorSnapshot copy,
                             MirrorSnapshotKind kind) {
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> reads,
      volume.cluster->OpenPool(volume.pool_id, volume.rados_namespace,
                               Access::kRead));
  if (!copy.complete) {
    ADDONS_ASSIGN_OR_RETURN(const auto watchers,
                            reads->ListWatchers(HeaderObject(image_id)));
    if (!watchers.empty()) return false;
  }
  ADDONS_ASSIGN_OR_RETURN(std::string record, RecordOf(*reads, image_id, copy));
  if (record.empty()) return false;
  ADDONS_ASSIGN_OR_RETURN(
      const std::unique_ptr<Pool> changes,
      volume.cluster->OpenPool(volume.pool_id, volume.rados_namespace,
                               Access::kMutate));
  if (!copy.complete && copy.last_copied_object > 0) {
    // See RewindInterruptedCopies(); whether that was done is not known, and
    // one object that is copied twice is the same.
    --copy.last_copied_object;
    ADDONS_ASSIGN_OR_RETURN(
        const bool set, changes->SetCopyProgress(image_id, copy.id, record,
                                                 {copy.last_copied_object}));
    if (!set) return false;
    ADDONS_ASSIGN_OR_RETURN(record, RecordOf(*reads, image_id, copy));
    if (record.empty()) return false;
  }
  if (!copy.complete && copy.last_copied_object == 0) {
    ADDONS_RETURN_IF_ERROR(UndoBegunCopy(*volume.cluster, volume.pool_id,
                                         volume.rados_namespace, image_id,
                                         copy.id)
                               .status());
  }
  return changes->SetCopyKind(image_id, copy.id, record, kind);
}

}  // namespace

void ResumeDemotionCopy(const ResolvedVolume& volume, const MirrorView& view) {
  const MirrorSnapshot& copy = *view.Newest();
  const auto set =
      SetKind(volume, view.image_id, copy,
              copy.complete ? MirrorSnapshotKind::kNonPrimaryDemoted
                            : MirrorSnapshotKind::kNonPrimary);
  if (!set.ok()) {
    Log().warn(
        "rbd-mirror has given up half a demotion, and could not be made to go "
        "on with it volume={}: {}",
        Quoted(volume.volume_id.text()), Quoted(set.status().message()));
  } else if (*set) {
    Log().info("{} volume={} snapshot={} {}",
               copy.complete
                   ? "a demotion that rbd-mirror had given up has arrived"
                   : "rbd-mirror had given up half a demotion, and is made "
                     "to go on with it",
               Quoted(volume.volume_id.text()), copy.id, view.CopyProgress());
  }
}

}  // namespace addons
