#ifndef ADDONS_RECLAIMSPACE_TRIM_H_
#define ADDONS_RECLAIMSPACE_TRIM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "node/filesystem.h"
#include "node/linux_roots.h"
#include "node/mounted_directory.h"
#include "operation/operation_context.h"
#include "reclaimspace/trim_stats.h"
#include "volume/config_store.h"
#include "volume/resolver.h"

namespace addons {

/// What trimming works with. What is a reference outlives it.
struct TrimEnvironment {
  Resolver& resolver;
  ConfigStore& config;
  TrimStats& stats;
  LinuxRoots roots = {};
  /// See IdentifyImage(); empty: loop devices are no images.
  std::string image_exports = {};
  /// How much of the filesystem's address space one step covers. A multiple of
  /// usual block groups of ext4 (128 MiB), which are remembered as trimmed only
  /// as a whole.
  uint64_t step_bytes = uint64_t{1} << 30;
  /// The kernel's side, which tests replace.
  std::function<absl::StatusOr<MountedDirectory>(const LinuxRoots& roots,
                                                 const std::string& path)>
      open = OpenMountedDirectory;
  std::function<absl::StatusOr<uint64_t>(int fd, const TrimRange& range)> trim =
      TrimFilesystem;
};

/// Whether the volume may be written here, by its access mode.
enum class AccessMode { kWriter, kReader };

struct TrimRequest {
  VolumeHandle volume_id;
  std::string path;          // the directory where the volume is mounted
  std::string staging_path;  // of the driver's record; empty: unknown
  CephUserRef user;          // null: proved without asking Ceph
  AccessMode access = AccessMode::kWriter;
};

struct TrimResult {
  /// What the filesystem asked its device to discard, by its own count, and no
  /// more than is free: xfs counts all of that each time.
  uint64_t asked_bytes = 0;
  /// Image::UsedBytes() of the image. Absent: a static volume, no secrets, or
  /// the image could not be measured within kMeasureTime.
  std::optional<uint64_t> image_before_bytes;
  std::optional<uint64_t> image_after_bytes;
};

/// Gives the free space of a mounted volume back to the pool:
///
// clang-format off
///   FindMount()       "finding the volume's device"
///                     ReadBlockStack(), IdentifyImage()
///                     Prove()       that it is the volume: ProveByCeph(), ProveByNode()
///   CheckTrimmable()                writable, and every layer discards
///   -- BeginMutation(): nothing is changed above this line --
///   TrimSteps()       ImageUsage()
///                     "trimming (bytes of the filesystem)"
///                     per step:     OpenAgain(): the same mount, still in use
///                                   trim(), ReadFreeBytes()
///                     ImageUsage()
// clang-format on
///
/// The mount is open during one step only, so an unmount is refused for that
/// long at most; and when kubelet has taken it from the last pod, trimming
/// ends, since it is about to be unmounted. Between steps it can be cancelled.
///
/// FAILED_PRECONDITION: nothing is mounted there, it is not proved to be that
/// volume, or the filesystem is read-only, or its journal was not replayed.
/// UNIMPLEMENTED: filesystem or a device cannot discard, naming it, no free
/// extent can be as large as the device discards, or a read-only filesystem of
/// a reader.
/// ABORTED: the volume disappeared meanwhile; Ceph did not answer. NOT_FOUND,
/// UNAUTHENTICATED: Resolver::Resolve(). PERMISSION_DENIED, UNKNOWN:
/// TrimFilesystem().
absl::StatusOr<TrimResult> Trim(OperationContext& context,
                                const TrimEnvironment& environment,
                                const TrimRequest& request);

}  // namespace addons

#endif  // ADDONS_RECLAIMSPACE_TRIM_H_
