#include "reclaimspace/image_usage.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/image_header.h"
#include "ceph/object_map.h"

namespace addons {
namespace {

/// The sizes of all objects that exist; nullopt: the map does not tell.
std::optional<uint64_t> UsedBytes(const ObjectMap& map, const ImageSize& size) {
  if (map.objects() != size.objects) return std::nullopt;
  uint64_t bytes = 0;
  for (uint64_t object = 0; object < size.objects; ++object) {
    if (map.At(object) == ObjectState::kNonexistent) continue;
    bytes +=
        std::min(size.object_bytes, size.bytes - object * size.object_bytes);
  }
  return bytes;
}

absl::StatusOr<std::optional<uint64_t>> MeasureOpened(
    Pool& pool, const ImageName& name, std::chrono::milliseconds at_most) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool.OpenImageReadOnly(name));
  return image->UsedBytes(at_most);
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    Pool& pool, const MeasuredImage& image, std::chrono::milliseconds at_most) {
  if (!image.features.fast_diff) {
    return MeasureOpened(pool, image.name, at_most);
  }
  const auto map = ReadObjectMap(pool, image.id, kHead, image.size.objects);
  if (map.ok() && map->has_value()) {
    if (const auto bytes = UsedBytes(**map, image.size)) return bytes;
  } else if (!map.ok() && !absl::IsInternal(map.status())) {
    return map.status();
  }
  return MeasureOpened(pool, image.name, at_most);
}

absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    const ResolvedVolume& volume, std::chrono::milliseconds at_most) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kRead));
  MeasuredImage image;
  image.name = volume.image_name();
  ADDONS_ASSIGN_OR_RETURN(image.id, FindImageId(*pool, image.name));
  auto header = pool->Header(image.id);
  // It is not understood, and an open image tells.
  if (absl::IsInternal(header.status())) {
    return MeasureOpened(*pool, image.name, at_most);
  }
  ADDONS_RETURN_IF_ERROR(header.status());
  image.size = header->size;
  image.features = header->features;
  return MeasureImage(*pool, image, at_most);
}

std::string UsageText(std::optional<uint64_t> bytes) {
  return bytes ? absl::StrCat(*bytes >> 20, " MiB") : "unknown";
}

}  // namespace addons
