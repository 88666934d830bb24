#ifndef ADDONS_NODE_MAPPED_DEVICES_H_
#define ADDONS_NODE_MAPPED_DEVICES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "node/device_number.h"
#include "node/linux_roots.h"
#include "node/mapped_image.h"

namespace addons {

/// A block device of this node that is an image.
struct MappedDevice {
  MappedImage image;
  DeviceNumber number;
  /// A snapshot, a secondary, or mapped so.
  bool read_only = false;
};

/// All devices of this node that IdentifyImage() knows to be images, in the
/// order of their names. What vanishes meanwhile, or cannot be read, is left
/// out. Reads files of /sys and /proc only.
std::vector<MappedDevice> ListMappedDevices(const LinuxRoots& roots,
                                            const std::string& image_exports);

/// "/dev/rbd0".
std::string NodePath(const LinuxRoots& roots, const MappedDevice& device);

/// OK: there is a device node at NodePath(), it is that device, and this
/// process may read and write it. FAILED_PRECONDITION: it is not there, or
/// something else. PERMISSION_DENIED: it may not be opened. Opens it once.
/// open(2), fstat(2)
absl::Status CheckDeviceNode(const LinuxRoots& roots,
                             const MappedDevice& device);

}  // namespace addons

#endif  // ADDONS_NODE_MAPPED_DEVICES_H_
