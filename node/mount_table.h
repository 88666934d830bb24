#ifndef ADDONS_NODE_MOUNT_TABLE_H_
#define ADDONS_NODE_MOUNT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "node/device_number.h"
#include "node/linux_roots.h"

namespace addons {

/// One line of /proc/self/mountinfo.
struct MountEntry {
  uint64_t id = 0;
  DeviceNumber device;
  std::string mount_point;  // as this process sees it
  std::string filesystem;   // "ext4"
  std::string source;       // "/dev/rbd0"
  /// Whether the filesystem, and not only this mount of it, is read-only.
  bool filesystem_read_only = false;
};

/// What is mounted in this process's view at one moment.
class MountTable {
 public:
  /// Lines that are not as the kernel writes them are left out: what is not
  /// found counts as not mounted.
  static MountTable Parse(absl::string_view text);
  /// <proc>/self/mountinfo. INTERNAL when it cannot be read.
  static absl::StatusOr<MountTable> Read(const LinuxRoots& roots);

  const std::vector<MountEntry>& entries() const { return entries_; }
  /// Null: there is no such mount. Valid as long as the table.
  const MountEntry* FindById(uint64_t id) const;
  /// The uppermost mount at exactly this place.
  const MountEntry* FindByMountPoint(absl::string_view path) const;
  /// How many mounts show the filesystem of this device.
  size_t CountOf(DeviceNumber device) const;

 private:
  std::vector<MountEntry> entries_;
};

}  // namespace addons

#endif  // ADDONS_NODE_MOUNT_TABLE_H_
