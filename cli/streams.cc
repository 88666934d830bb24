#include "cli/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "rpc/text.h"

namespace addons {

std::string ErrorLine(const absl::Status& status) {
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ",
                      CleanLine(status.message(), kMaxShownText));
}

int Fail(const absl::Status& status, int exit_code, Streams& streams) {
  streams.err << ErrorLine(status) << "\n";
  return exit_code;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto failed = [&path] {
    return absl::InvalidArgumentError(absl::StrCat(
        "Failed to read file '", path,
        "': ", std::error_code(errno, std::generic_category()).message()));
  };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return failed();
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const ssize_t bytes = read(file.get(), part.data(), part.size());
    if (bytes == 0) break;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failed();  // a folder, too
    text.append(part.data(), static_cast<size_t>(bytes));
  }
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("file '", path, "' is empty"));
  }
  return text;
}

absl::StatusOr<std::string> ReadOptionalFile(const std::string& path) {
  if (path.empty()) return std::string();
  return ReadFile(path);
}

}  // namespace addons
