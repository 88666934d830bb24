#include "volume/staging_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/unique_fd.h"

namespace addons {
namespace {

constexpr char kFile[] = "/image-meta.json";

/// A text field; empty when it is missing or no text.
std::string TextOf(const nlohmann::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<StagingRecord> ReadStagingRecord(
    const std::string& staging_path) {
  const std::string path = staging_path + kFile;
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    return absl::NotFoundError(
        absl::StrCat("'", path, "': ", std::generic_category().message(errno)));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::NotFoundError(absl::StrCat("'", path, "' is no file"));
  }
  std::array<char, 65536> buffer{};
  const ssize_t size = read(fd.get(), buffer.data(), buffer.size());
  const auto json = ParseJson(absl::string_view(
      buffer.data(), size > 0 ? static_cast<size_t>(size) : 0));
  StagingRecord record;
  if (json.is_object()) {
    record.pool = TextOf(json, "pool");
    record.rados_namespace = TextOf(json, "radosNamespace");
    record.image = ImageName(TextOf(json, "image"));
  }
  if (record.pool.empty() || record.image.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' names no pool and image"));
  }
  return record;
}

}  // namespace addons
