#ifndef ADDONS_RECLAIMSPACE_RECLAIM_PARAMETERS_H_
#define ADDONS_RECLAIMSPACE_RECLAIM_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace addons {

/// Whether images with snapshots are sparsified, although that makes them grow.
enum class WithSnapshots { kNo, kYes };

/// What the parameters of ControllerReclaimSpace, the volume's attributes, ask
/// for.
struct ReclaimParameters {
  /// Runs of zeros of this size are freed. docs/reclaimspace.md has the numbers
  /// behind the default.
  uint64_t sparse_bytes = 4096;
  WithSnapshots with_snapshots = WithSnapshots::kNo;

  /// Reads sparseSize and withSnapshots; other keys are for others and ignored.
  /// INVALID_ARGUMENT names the key, its value and what is allowed.
  static absl::StatusOr<ReclaimParameters> Parse(
      const std::map<std::string, std::string>& map);

  /// INVALID_ARGUMENT unless sparse_bytes is at most the size of an image's
  /// objects.
  absl::Status CheckObjectSize(uint64_t object_bytes) const;
};

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_RECLAIM_PARAMETERS_H_
