#include "replication/look/image_directory.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr uint64_t kPage = 512;

/// The value is a length and the name.
std::string DirectoryName(const std::string& value) {
  constexpr size_t kLength = sizeof(uint32_t);
  if (value.size() < kLength) return "";
  uint32_t length = 0;
  for (size_t i = 0; i < kLength; ++i) {
    length |= uint32_t{static_cast<unsigned char>(value[i])} << (8 * i);
  }
  if (length != value.size() - kLength) return "";
  return value.substr(kLength);
}

}  // namespace

absl::StatusOr<std::map<std::string, ImageName>> ReadImageNames(Pool& pool) {
  constexpr absl::string_view kPrefix = "id_";
  std::map<std::string, ImageName> names;
  const auto directory = pool.ReadOmap("rbd_directory", std::string(kPrefix));
  if (absl::IsNotFound(directory.status())) return names;
  ADDONS_RETURN_IF_ERROR(directory.status());
  for (const auto& [key, value] : *directory) {
    names.emplace(key.substr(kPrefix.size()), ImageName(DirectoryName(value)));
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> ReadMirroredImageIds(Pool& pool) {
  constexpr char kMirroring[] = "rbd_mirroring";
  constexpr absl::string_view kPrefix = "image_";
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    const auto page =
        pool.ReadOmapPage(kMirroring, std::string(kPrefix), after, kPage);
    if (absl::IsNotFound(page.status())) return ids;  // nothing is mirrored
    ADDONS_RETURN_IF_ERROR(page.status());
    for (const auto& [key, value] : page->values) {
      ids.push_back(key.substr(kPrefix.size()));
      after = key;
    }
    if (!page->more || page->values.empty()) return ids;
  }
}

}  // namespace addons
