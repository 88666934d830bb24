#ifndef ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_
#define ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "ceph/image.h"
#include "ceph/pool.h"
#include "volume/resolved.h"

namespace addons {

/// How long an image without fast-diff is measured at most.
inline constexpr std::chrono::milliseconds kMeasureTime{20000};

/// What has to be known of an image to measure it.
struct MeasuredImage {
  ImageName name;
  std::string id;
  ImageSize size;
  ImageFeatures features;
};

/// Image::UsedBytes(). With valid fast-diff it is one read of the object map,
/// as librbd keeps it; where that has another form or size, and without
/// fast-diff, the image is opened read-only. Blocks as UsedBytes() does.
absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    Pool& pool, const MeasuredImage& image, std::chrono::milliseconds at_most);

/// The same of a volume's image, of which nothing is known: three reads with
/// valid fast-diff.
absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    const ResolvedVolume& volume, std::chrono::milliseconds at_most);

/// "12 MiB" or "unknown", for logs.
std::string UsageText(std::optional<uint64_t> bytes);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_
