#include "replication/look/image_directory.h"

#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

constexpr uint64_t kPage = 512;

}  // namespace

absl::StatusOr<std::map<std::string, ImageName>> ReadImageNames(Pool& pool) {
  constexpr absl::string_view kPrefix = "id_";
  std::map<std::string, ImageName> names;
  const auto directory = pool.ReadOmap("rbd_directory", std::string(kPrefix));
  if (absl::IsNotFound(directory.status())) return names;
  ADDONS_RETURN_IF_ERROR(directory.status());
  for (const auto& [key, value] : *directory) {
    names.emplace(key.substr(kPrefix.size()),
                  ImageName(DecodeText(value).value_or("")));
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
