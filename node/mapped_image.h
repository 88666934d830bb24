#ifndef ADDONS_NODE_MAPPED_IMAGE_H_
#define ADDONS_NODE_MAPPED_IMAGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/image_name.h"
#include "node/block_stack.h"
#include "node/linux_roots.h"

namespace addons {

/// The RBD image behind a block device, as far as the node itself knows it.
struct MappedImage {
  std::string device;              // "rbd0"
  std::string pool;                // empty: only `tag` is known
  std::optional<int64_t> pool_id;  // krbd only
  std::string rados_namespace;
  ImageName image;
  std::string fsid;  // of the cluster; krbd only, and not of old kernels
  /// What rbd-nbd was told as --cookie: ceph-csi gives the volume id there.
  std::string tag;
  /// librbd encrypts it, so that nothing which is discarded comes back.
  bool encrypted = false;

  /// "image 'pool/namespace/image' (device rbd0)", for messages.
  std::string Describe() const;
};

/// Says which image the lowest layer of a stack is:
///  - krbd: the kernel's own attributes (sysfs, bus rbd);
///  - nbd: the process that serves it, if that is rbd-nbd, and the device's
///    backend identifier;
///  - loop: only when `image_exports` is not empty and the backing file is
///    <image_exports>/<pool>/[<namespace>/]<image> and a FUSE filesystem is
///    mounted on that very file, as qemu-storage-daemon exports images. A loop
///    device over an ordinary file is never an image.
/// FAILED_PRECONDITION: it is none of them.
absl::StatusOr<MappedImage> IdentifyImage(const LinuxRoots& roots,
                                          const std::string& image_exports,
                                          const BlockLayer& lowest);

}  // namespace addons

#endif  // ADDONS_NODE_MAPPED_IMAGE_H_
