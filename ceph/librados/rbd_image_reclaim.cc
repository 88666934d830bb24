// RbdImage: what space reclaim needs.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/status_macros.h"
#include "ceph/librados/ceph_enums.h"
#include "ceph/librados/progress_callback.h"
#include "ceph/librados/rbd_image.h"

namespace addons {
namespace {

constexpr uint64_t kObjectsPerLook = 64;

int AddExtent(uint64_t /*offset*/, size_t length, int exists, void* bytes) {
  if (exists != 0) *static_cast<uint64_t*>(bytes) += length;
  return 0;
}

/// How often is looked whether this handle has the lock still.
constexpr std::chrono::milliseconds kLockLook{50};

/// What librbd's callback knows. It counts objects upwards; when it starts
/// again, librbd has given up the lock in between.
struct SparsifyWatch {
  ProgressCallback progress;
  uint64_t last = 0;
  bool stopped = false;
  bool restarted = false;
  std::atomic<bool> begun{false};
  std::atomic<bool> lock_lost{false};
};

int OnObject(uint64_t object, uint64_t total, void* argument) {
  auto& watch = *static_cast<SparsifyWatch*>(argument);
  watch.begun = true;
  watch.restarted |= object < watch.last;
  watch.last = object;
  watch.stopped |= !watch.progress.Report(object, total);
  const bool end = watch.stopped || watch.restarted || watch.lock_lost;
  return end ? -ECANCELED : 0;
}

}  // namespace

absl::StatusOr<ImageFeatures> RbdImage::Features() {
  ADDONS_ASSIGN_OR_RETURN(const uint64_t features, FeatureBits());
  uint64_t flags = 0;
  const int result = connection_->Call(
      "rbd_get_flags", [&] { return rbd_get_flags(image_.get(), &flags); });
  if (result < 0) return Error(result, "read the features of");
  return ToImageFeatures(features, flags);
}

absl::StatusOr<std::vector<ImageSnapshot>> RbdImage::Snapshots() {
  ADDONS_ASSIGN_OR_RETURN(const auto listed, ListSnapshots());
  std::vector<ImageSnapshot> snapshots;
  for (const auto& [id, name] : listed) {
    rbd_snap_namespace_type_t type = RBD_SNAP_NAMESPACE_TYPE_USER;
    const int result = connection_->Call(
        "rbd_snap_get_namespace_type", [this, snapshot = id, &type] {
          return rbd_snap_get_namespace_type(image_.get(), snapshot, &type);
        });
    if (result == -ENOENT) continue;  // removed since it was listed
    if (result < 0) return Error(result, "list the snapshots of");
    snapshots.push_back({id, name, ToSnapshotKind(static_cast<int>(type))});
  }
  return snapshots;
}

absl::Status RbdImage::AddUsedBytes(uint64_t offset, uint64_t length,
                                    bool whole_objects, uint64_t& bytes) {
  const int result = connection_->Call("rbd_diff_iterate2", [&] {
    return rbd_diff_iterate2(image_.get(), /*fromsnapname=*/nullptr, offset,
                             length, /*include_parent=*/0,
                             whole_objects ? 1 : 0, &AddExtent, &bytes);
  });
  return result < 0 ? Error(result, "measure") : absl::OkStatus();
}

absl::StatusOr<std::optional<uint64_t>> RbdImage::UsedBytes(
    std::chrono::milliseconds at_most) {
  ADDONS_ASSIGN_OR_RETURN(const ImageFeatures features, Features());
  ADDONS_ASSIGN_OR_RETURN(const ImageSize size, Size());
  uint64_t bytes = 0;
  if (features.fast_diff) {
    ADDONS_RETURN_IF_ERROR(AddUsedBytes(0, size.bytes, true, bytes));
    return bytes;
  }
  const SteadyTime until = RealClock().Now() + at_most;
  const uint64_t step = size.object_bytes * kObjectsPerLook;
  for (uint64_t offset = 0; offset < size.bytes; offset += step) {
    if (RealClock().Now() >= until) return std::nullopt;
    const uint64_t length = std::min(step, size.bytes - offset);
    ADDONS_RETURN_IF_ERROR(AddUsedBytes(offset, length, false, bytes));
  }
  return bytes;
}

absl::StatusOr<SparsifyEnd> RbdImage::Sparsify(uint64_t sparse_bytes,
                                               const ProgressFn& progress) {
  SparsifyWatch watch{ProgressCallback(progress)};
  int result = 0;
  const absl::Status done = MutateWithLock(
      "rbd_sparsify_with_progress", "sparsify", kLockLook,
      [&] {
        result = rbd_sparsify_with_progress(image_.get(), sparse_bytes,
                                            &OnObject, &watch);
        return result;
      },
      [&] { watch.lock_lost = watch.begun.load(); });
  watch.progress.Rethrow();
  // EROFS: librbd lost the lock and could not get it again.
  if (watch.restarted || watch.lock_lost || result == -EROFS) {
    return SparsifyEnd::kLockLost;
  }
  if (watch.stopped && (done.ok() || result == -ECANCELED)) {
    return SparsifyEnd::kStopped;
  }
  ADDONS_RETURN_IF_ERROR(done);
  return SparsifyEnd::kFinished;
}

}  // namespace addons
