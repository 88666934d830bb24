#ifndef ADDONS_CEPH_IMAGE_COPY_H_
#define ADDONS_CEPH_IMAGE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace addons {

class Image;
struct ImageData;
struct ImageRange;

struct ImageCopyOptions {
  /// So many pieces (an object each, at most 4 MiB), or more where they are
  /// smaller, are read and written at a time. Up to four times as much is held
  /// in memory.
  size_t pieces = 4;
  /// Blocks that have zeros are written also where the target has the same:
  /// mirroring does not carry what became zeros by a discard, so that its copy
  /// may have old data there.
  bool zeros_too = false;
};

/// Called between two rounds, with bytes; a status that is not OK ends the copy
/// with it.
using CopyProgressFn =
    std::function<absl::Status(uint64_t done, uint64_t total)>;

/// Reads ranges of an image, as Image::Read() does.
using ReadRangesFn = std::function<absl::StatusOr<std::vector<ImageData>>(
    const std::vector<ImageRange>&)>;

/// Of `image`, which is not owned.
ReadRangesFn Reading(Image& image);

/// Makes `target` (open for writing) contain in `ranges` (ascending, within
/// both) what `source` reads there. Only blocks that differ are written,
/// zeros as data; all that was written is flushed, read back and compared. Can
/// be broken off and begun again at any time. INTERNAL: what was read back
/// differs.
absl::Status CopyRanges(const ReadRangesFn& source, Image& target,
                        const std::vector<ImageRange>& ranges,
                        const ImageCopyOptions& options,
                        const CopyProgressFn& progress);

/// Whether both contain the same in `ranges`.
absl::StatusOr<bool> SameContent(const ReadRangesFn& one, Image& other,
                                 const std::vector<ImageRange>& ranges,
                                 const ImageCopyOptions& options);

/// The sum of their lengths.
uint64_t TotalBytes(const std::vector<ImageRange>& ranges);

}  // namespace addons

#endif  // ADDONS_CEPH_IMAGE_COPY_H_
