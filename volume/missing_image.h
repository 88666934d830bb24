#ifndef ADDONS_VOLUME_MISSING_IMAGE_H_
#define ADDONS_VOLUME_MISSING_IMAGE_H_

#include "absl/status/status.h"
#include "volume/resolved.h"

namespace addons {

/// The answer for a volume whose journal entry is there but whose image is not:
/// NOT_FOUND. UNAVAILABLE: the image is there under another name, which `rbd
/// rename` gives and mirroring brings to the other site; that must not count as
/// gone. Otherwise that could not be looked for, and this is why. One read;
/// blocks as Pool.
absl::Status ImageMissing(const ResolvedVolume& volume);

}  // namespace addons

#endif  // ADDONS_VOLUME_MISSING_IMAGE_H_
