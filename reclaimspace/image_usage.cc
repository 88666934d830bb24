#include "reclaimspace/image_usage.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ceph/image.h"
#include "ceph/pool.h"

namespace addons {

absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    const ResolvedVolume& volume, std::chrono::milliseconds at_most) {
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Pool> pool,
                          volume.OpenPool(Access::kRead));
  ADDONS_ASSIGN_OR_RETURN(const std::unique_ptr<Image> image,
                          pool->OpenImageReadOnly(volume.image_name()));
  return image->UsedBytes(at_most);
}

std::string UsageText(std::optional<uint64_t> bytes) {
  return bytes ? absl::StrCat(*bytes >> 20, " MiB") : "unknown";
}

}  // namespace addons
