#include "volume/stamped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/unique_fd.h"

namespace addons {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp ToStamp(int result, const struct stat& info) {
  FileStamp stamp;
  if (result != 0) {
    stamp.error = errno;
    return stamp;
  }
  stamp.device = info.st_dev;
  stamp.inode = info.st_ino;
  stamp.size = info.st_size;
  stamp.modified_ns = Nanoseconds(info.st_mtim);
  stamp.changed_ns = Nanoseconds(info.st_ctim);
  return stamp;
}

FileContent Unreadable(const std::string& path, int error, FileStamp stamp) {
  FileContent content;
  content.stamp = stamp;
  content.problem = absl::StrCat("Failed to read '", path, "': (", error, ") ",
                                 std::generic_category().message(error));
  return content;
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  const int result = ::stat(path.c_str(), &info);
  return ToStamp(result, info);
}

bool MayChangeUnnoticed(const FileStamp& stamp) {
  constexpr int64_t kSeveralTicks = 100'000'000;
  if (stamp.error != 0) return false;
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          RealClock().WallNow().time_since_epoch())
                          .count();
  const int64_t age = now - stamp.changed_ns;
  return age < kSeveralTicks && age > -kSeveralTicks;
}

FileContent ReadStampedFile(const std::string& path) {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  // Non-blocking: opening a named pipe must not hang.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Unreadable(path, errno, StampOf(path));
  struct stat info {};
  const int result = ::fstat(file.get(), &info);
  FileContent content;
  content.stamp = ToStamp(result, info);
  std::array<char, 16384> buffer{};
  while (content.text.size() <= kMaxBytes) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(path, errno, content.stamp);
    if (count == 0) return content;
    content.text.append(buffer.data(), static_cast<size_t>(count));
  }
  return Unreadable(path, EFBIG, content.stamp);
}

}  // namespace addons
