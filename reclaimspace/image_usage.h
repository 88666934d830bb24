#ifndef ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_
#define ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "volume/resolved.h"

namespace addons {

/// Image::UsedBytes() of the volume's image, opened read-only for this one
/// look. Blocks as it does, for `at_most` where the image has no fast-diff;
/// with 0 such images are not measured at all.
absl::StatusOr<std::optional<uint64_t>> MeasureImage(
    const ResolvedVolume& volume, std::chrono::milliseconds at_most);

/// "12 MiB" or "unknown", for logs.
std::string UsageText(std::optional<uint64_t> bytes);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_IMAGE_USAGE_H_
