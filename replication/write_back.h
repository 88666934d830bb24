#ifndef ADDONS_REPLICATION_WRITE_BACK_H_
#define ADDONS_REPLICATION_WRITE_BACK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/slots.h"
#include "ceph/image.h"
#include "ceph/image_copy.h"
#include "ceph/image_diff.h"
#include "ceph/pool.h"
#include "replication/session.h"

namespace addons {

// What brings an earlier state of an image back: a forced promotion
// (ceph_faults/rescue.h), and a rollback to a point (points/rollback.h). Each
// shows how far it is, and goes on from where it was when it is begun again.

/// How such work speaks, and what it does besides.
struct WriteBack {
  const Session& session;
  /// "Failed to ...: <reason>", for those who leave meanwhile.
  std::function<absl::Status(absl::string_view reason)> failed;
  /// Now and then, also while it reads; a status that is not OK ends the work.
  /// May be empty.
  std::function<absl::Status()> beside{};
  bool zeros_too = false;  // ImageCopyOptions
};

/// Waits for one of the few places for such work; `waits` is what callers who
/// leave meanwhile are told.
absl::StatusOr<Slots::Slot> AwaitSlot(const Session& session,
                                      const absl::Status& waits);

/// The pool and namespace of the data of an image with this layout, to read.
absl::StatusOr<std::unique_ptr<Pool>> OpenDataPool(const Session& session,
                                                   const ImageLayout& layout);

/// How the image with this id lay in objects at a snapshot.
/// FAILED_PRECONDITION, as FailedTo(): it was a clone then.
absl::StatusOr<ImageLayout> LayoutAt(const OpenedVolume& opened,
                                     absl::string_view action,
                                     const std::string& image_id,
                                     uint64_t snapshot);

/// ChangedRanges(), as the step `what`.
absl::StatusOr<std::vector<ImageRange>> FindChanged(
    const WriteBack& work, const ImageLayout& layout,
    const std::vector<ImageStates>& states, uint64_t bytes,
    absl::string_view what);

/// CopyRanges(), as the step `what`.
absl::Status CopyBack(const WriteBack& work, const ReadRangesFn& source,
                      Image& target, const std::vector<ImageRange>& ranges,
                      absl::string_view what);

/// What is said of clients that have the image open.
using InUseFn = std::function<absl::Status(const std::string& clients)>;

/// Waits until no workload has it open, for `patience` at most: one that died a
/// moment ago counts as one for watch_timeout. Then it is `in_use`.
absl::Status AwaitNoWorkload(const Session& session, Image& image,
                             SteadyDuration patience, const InUseFn& in_use);

/// The exclusive lock of an image was not to be had (Image::AcquireLock()).
bool HeldByAnother(const absl::Status& locked);

/// Image::AcquireLock(). WriteBack::failed(): another client keeps it.
absl::Status LockToWriteBack(const WriteBack& work, Image& image);

}  // namespace addons

#endif  // ADDONS_REPLICATION_WRITE_BACK_H_
