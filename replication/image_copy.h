#ifndef ADDONS_REPLICATION_IMAGE_COPY_H_
#define ADDONS_REPLICATION_IMAGE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "ceph/image.h"

namespace addons {

struct ImageCopyOptions {
  /// So many pieces (an object each, at most 4 MiB) are read and written at a
  /// time. Up to four times as much is held in memory.
  size_t pieces = 4;
};

/// Called between two rounds, with bytes; a status that is not OK ends the copy
/// with it.
using CopyProgressFn =
    std::function<absl::Status(uint64_t done, uint64_t total)>;

/// Makes `target` (open for writing) contain what `source` contains: its size,
/// and of its content only what differs is written, zeros as holes. Everything
/// that was written is read back and compared, then flushed. Reads both images
/// in full, and relies on no record of what has changed. Can be broken off and
/// begun again at any time. INTERNAL: what was read back differs.
absl::Status MakeEqual(Image& source, Image& target,
                       const ImageCopyOptions& options,
                       const CopyProgressFn& progress);

}  // namespace addons

#endif  // ADDONS_REPLICATION_IMAGE_COPY_H_
