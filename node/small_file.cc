#include "node/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/unique_fd.h"

namespace addons {
namespace {

constexpr size_t kMostBytes = 16u << 20;

}  // namespace

std::optional<std::string> ReadSmallFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return std::nullopt;
  std::string text;
  std::array<char, 16384> buffer{};
  while (text.size() <= kMostBytes) {
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got > 0) {
      text.append(buffer.data(), static_cast<size_t>(got));
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
  errno = EFBIG;
  return std::nullopt;
}

std::optional<std::string> ReadAttribute(const std::string& path) {
  std::optional<std::string> text = ReadSmallFile(path);
  if (text) absl::StripAsciiWhitespace(&*text);
  return text;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = ReadAttribute(path);
  uint64_t number = 0;
  if (!text || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

}  // namespace addons
