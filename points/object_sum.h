#ifndef ADDONS_POINTS_OBJECT_SUM_H_
#define ADDONS_POINTS_OBJECT_SUM_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace addons {

// Mirroring by snapshots does not carry every zero: what was discarded, or
// written as zeros, may be old data at the other site. So an object's digest
// comes with a map of its zeros: whoever compares sets to zero what the map
// says, counts what that has changed, and digests the rest.

inline constexpr size_t kSectorBytes = 512;
inline constexpr size_t kBlockBytes = 8 * kSectorBytes;

/// What one object of an image holds.
struct ObjectSum {
  /// One byte for each block of 4 KiB, with a bit for each of its sectors that
  /// has only zeros, the lowest for the first; empty: all of it is zeros.
  std::string zeros;
  uint64_t digest = 0;  // XXH3 of all of it
};

/// Of `bytes`, which end where only zeros follow up to `length`.
ObjectSum SumObject(absl::string_view bytes, uint64_t length);

/// `zeros` with blocks alone: those with some data have all.
std::string WholeBlocks(const std::string& zeros);

/// Sets in `bytes`, up to `length`, what `zeros` says is zero (all of it where
/// that is empty). Returns how many bytes of sectors were not: whole sectors.
uint64_t ClearZeros(const std::string& zeros, uint64_t length,
                    std::string* bytes);

/// XXH3 of `bytes` with zeros up to `length`.
uint64_t DigestObject(absl::string_view bytes, uint64_t length);

/// Of several digests, in their order.
uint64_t DigestTogether(const uint64_t* digests, size_t count);

}  // namespace addons

#endif  // ADDONS_POINTS_OBJECT_SUM_H_
