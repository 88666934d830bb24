#include "node/filesystem.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

absl::Status TrimError(int error) {
  switch (error) {
    case EOPNOTSUPP:
    case ENOTTY:
    case ENOSYS:
      return absl::UnimplementedError("the filesystem cannot trim");
    case EINVAL:
      return absl::OutOfRangeError("the filesystem has no such range");
    case EROFS:
      return absl::FailedPreconditionError("the filesystem is read-only");
    case EPERM:
    case EACCES:
      return absl::PermissionDeniedError(
          "this daemon lacks CAP_SYS_ADMIN: its container or unit must have "
          "it");
    default:
      return absl::UnknownError(
          absl::StrCat("the filesystem answered '", strerror(error), "'"));
  }
}

}  // namespace

absl::StatusOr<uint64_t> TrimFilesystem(int fd, const TrimRange& range) {
  for (;;) {
    fstrim_range wanted{};
    wanted.start = range.start;
    wanted.len = range.length;
    wanted.minlen = range.smallest_extent;
    if (ioctl(fd, FITRIM, &wanted) == 0) return wanted.len;
    if (errno != EINTR) return TrimError(errno);
  }
}

absl::StatusOr<uint64_t> ReadFreeBytes(int fd) {
  struct statvfs info {};
  if (fstatvfs(fd, &info) != 0) {
    return absl::UnknownError(
        absl::StrCat("statvfs failed: ", strerror(errno)));
  }
  return uint64_t{info.f_bfree} * info.f_frsize;
}

}  // namespace addons
