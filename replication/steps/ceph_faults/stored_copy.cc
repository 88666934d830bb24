#include "replication/steps/ceph_faults/stored_copy.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ceph/image.h"

namespace addons {
namespace {

absl::StatusOr<bool> NoteMarked(Pool& reads, Pool& changes,
                                const RescueRecord& record, CopyNote note) {
  ADDONS_ASSIGN_OR_RETURN(
      const auto copy,
      ReadStoredCopy(reads, record.image_id, record.snapshot_id));
  if (!copy.has_value() || !IsMarked(record, copy->snapshot)) return false;
  return changes.SetCopyProgress(record.image_id, record.snapshot_id,
                                 copy->record, note);
}

}  // namespace

absl::StatusOr<std::optional<NewestCopy>> ReadNewestCopy(
    Pool& reads, const std::string& image_id) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          reads.OpenImageByIdReadOnly(image_id));
  ADDONS_ASSIGN_OR_RETURN(std::vector<MirrorSnapshot> snapshots,
                          image->MirrorSnapshots());
  ADDONS_RETURN_IF_ERROR(image->Close());
  if (snapshots.empty() || !snapshots.back().copied()) return std::nullopt;
  return NewestCopy{image->name(), std::move(snapshots.back())};
}

// What is stored comes first: when it changes after that, it is no proof.
absl::StatusOr<std::optional<StoredCopy>> ReadStoredCopy(
    Pool& reads, const std::string& image_id, uint64_t snapshot_id) {
  auto record = reads.SnapshotRecord(image_id, snapshot_id);
  if (absl::IsNotFound(record.status())) return std::nullopt;
  ADDONS_RETURN_IF_ERROR(record.status());
  ADDONS_ASSIGN_OR_RETURN(auto newest, ReadNewestCopy(reads, image_id));
  if (!newest.has_value() || newest->snapshot.id != snapshot_id) {
    return std::nullopt;
  }
  return StoredCopy{std::move(newest->snapshot), *std::move(record)};
}

absl::StatusOr<bool> MarkCopyComplete(Pool& reads, Pool& changes,
                                      const RescueRecord& record) {
  return NoteMarked(reads, changes, record,
                    {record.marked_objects, /*complete=*/true});
}

absl::StatusOr<bool> UnmarkCopy(Pool& reads, Pool& changes,
                                const RescueRecord& record) {
  // See RewindInterruptedCopies(), which leaves complete copies alone: whether
  // it came before the mark is not known, and one object that is copied twice
  // is the same.
  const uint64_t objects = record.marked_objects;
  return NoteMarked(reads, changes, record, {objects - (objects > 0 ? 1 : 0)});
}

}  // namespace addons
