#ifndef ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STORED_COPY_H_
#define ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STORED_COPY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/mirror.h"
#include "ceph/pool.h"
#include "replication/look/rescue_record.h"

namespace addons {

/// The newest snapshot of an image, where it came from a peer.
struct NewestCopy {
  ImageName image;
  MirrorSnapshot snapshot;
};

/// nullopt: the image has no mirror snapshot, or the newest is its own. Opens
/// it read-only; errors are those of Pool and Image.
absl::StatusOr<std::optional<NewestCopy>> ReadNewestCopy(
    Pool& reads, const std::string& image_id);

/// The same with what is stored of it, which Pool::SetCopyProgress() and
/// SetCopyKind() take as the proof that it is still so.
struct StoredCopy {
  MirrorSnapshot snapshot;
  std::string record;
};

/// nullopt: the newest one is not `snapshot_id` any more.
absl::StatusOr<std::optional<StoredCopy>> ReadStoredCopy(
    Pool& reads, const std::string& image_id, uint64_t snapshot_id);

/// Notes the copy that `record` is about as complete, which it is not
/// (RescueStep::kMarked), or takes that back, with one object less, as whoever
/// interrupts a copy. false: the copy is not what `record` says. `changes` is a
/// mutation pool. Blocks for an open, a read and a write.
absl::StatusOr<bool> MarkCopyComplete(Pool& reads, Pool& changes,
                                      const RescueRecord& record);
absl::StatusOr<bool> UnmarkCopy(Pool& reads, Pool& changes,
                                const RescueRecord& record);

}  // namespace addons

#endif  // ADDONS_REPLICATION_STEPS_CEPH_FAULTS_STORED_COPY_H_
