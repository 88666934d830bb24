#include "cli/tar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace addons {
namespace {

constexpr size_t kBlock = 512;

void Put(std::string& header, size_t at, absl::string_view text) {
  header.replace(at, text.size(), text.data(), text.size());
}

/// Octal digits, which fill their field but for the last byte.
void PutNumber(std::string& header, size_t at, size_t digits, uint64_t number) {
  Put(header, at, absl::StrFormat("%0*o", static_cast<int>(digits), number));
}

/// The fields of ustar: name, mode, owner, group, size, time, sum, kind, magic
/// and version.
std::string HeaderOf(const TarEntry& entry, int64_t unix_seconds) {
  std::string header(kBlock, '\0');
  Put(header, 0, absl::string_view(entry.name).substr(0, 100));
  PutNumber(header, 100, 7, 0600);
  PutNumber(header, 108, 7, 0);
  PutNumber(header, 116, 7, 0);
  PutNumber(header, 124, 11, entry.text.size());
  PutNumber(header, 136, 11, static_cast<uint64_t>(unix_seconds));
  Put(header, 148, "        ");  // counts as blanks in its own sum
  Put(header, 156, "0");
  Put(header, 257,
      absl::string_view("ustar\0"
                        "00",
                        8));
  uint64_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  PutNumber(header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

std::string Why(int error) {
  return std::error_code(error, std::generic_category()).message();
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

absl::Status Failed(const std::string& path, int error) {
  return absl::InternalError(
      absl::StrCat("Failed to write '", path, "': ", Why(error)));
}

absl::Status IsThere(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path,
                   "' is there already: name another file with --output, or "
                   "replace it with --force"));
}

absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, errno);
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(fd) != 0) return Failed(path, errno);
  return absl::OkStatus();
}

/// `temporary` becomes `path`, in one step.
absl::Status Rename(const std::string& temporary, const std::string& path,
                    bool replace) {
  if (replace) {
    return std::rename(temporary.c_str(), path.c_str()) == 0
               ? absl::OkStatus()
               : Failed(path, errno);
  }
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(),
                RENAME_NOREPLACE) == 0) {
    return absl::OkStatus();
  }
  if (errno == EEXIST) return IsThere(path);
  if (errno != EINVAL && errno != ENOSYS) return Failed(path, errno);
  // This file system knows no such renaming.
  ADDONS_RETURN_IF_ERROR(CheckWritable(path, replace));
  return Rename(temporary, path, /*replace=*/true);
}

}  // namespace

std::string TarOf(const std::vector<TarEntry>& entries, int64_t unix_seconds) {
  std::string tar;
  for (const TarEntry& entry : entries) {
    tar += HeaderOf(entry, unix_seconds);
    tar += entry.text;
    tar.append((kBlock - tar.size() % kBlock) % kBlock, '\0');
  }
  tar.append(2 * kBlock, '\0');
  return tar;
}

absl::Status CheckWritable(const std::string& path, bool replace) {
  const std::string folder = FolderOf(path);
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to write into the folder '", folder, "': ", Why(errno)));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to write into the folder '", folder, "': ", Why(errno)));
  }
  if (::lstat(path.c_str(), &found) != 0) return absl::OkStatus();
  if (S_ISDIR(found.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is a folder: name a file with --output"));
  }
  return replace ? absl::OkStatus() : IsThere(path);
}

absl::Status WriteWhole(const std::string& path, absl::string_view content,
                        bool replace) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return Failed(path, errno);
  absl::Status written = WriteAll(file.get(), content, path);
  if (written.ok()) written = Rename(temporary, path, replace);
  if (!written.ok()) ::unlink(temporary.c_str());
  return written;
}

}  // namespace addons
