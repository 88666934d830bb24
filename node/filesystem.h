#ifndef ADDONS_NODE_FILESYSTEM_H_
#define ADDONS_NODE_FILESYSTEM_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace addons {

/// A part of a filesystem's address space, in bytes.
struct TrimRange {
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t smallest_extent = 0;  // smaller free extents are left alone
};

/// Discards the free space in `range` of the filesystem of the directory `fd`
/// and returns how many bytes that were, by the filesystem's count. ext4 leaves
/// out block groups in which nothing was freed since the last time, and may
/// discard and count free extents to their end, beyond the range. xfs counts
/// all of the range, what is in use as well.
///
/// UNIMPLEMENTED: the filesystem or its device cannot trim. OUT_OF_RANGE: the
/// range begins beyond the end of the filesystem, is smaller than a block, or
/// `smallest_extent`, or what the device discards at least, is larger than a
/// block group. FAILED_PRECONDITION: the filesystem is read-only, or was
/// mounted without a replay of its journal. PERMISSION_DENIED: needs
/// CAP_SYS_ADMIN. UNKNOWN: anything else, an I/O error for instance. Blocks
/// until the device has answered; only SIGKILL interrupts it. ioctl(2) FITRIM
absl::StatusOr<uint64_t> TrimFilesystem(int fd, const TrimRange& range);

/// Free bytes of the filesystem of `fd`. UNKNOWN on an I/O error. fstatvfs(3)
absl::StatusOr<uint64_t> ReadFreeBytes(int fd);

}  // namespace addons

#endif  // ADDONS_NODE_FILESYSTEM_H_
