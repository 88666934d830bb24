#ifndef ADDONS_NODE_MOUNTED_DIRECTORY_H_
#define ADDONS_NODE_MOUNTED_DIRECTORY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "node/linux_roots.h"
#include "node/mount_table.h"

namespace addons {

/// A directory that is the root of a mount. As long as `fd` is open the mount
/// cannot be undone (umount: EBUSY), so hold it shortly.
struct MountedDirectory {
  UniqueFd fd;
  MountEntry mount;
  /// How many mounts there are of the same filesystem, this one included: with
  /// kubelet one for the staging path and one for each pod.
  size_t mounts = 0;
};

/// Opens the directory `path` (absolute) if a filesystem is mounted exactly
/// there; nothing that lies below a mount is accepted in its place. Kernel and
/// file descriptor say so, not the text of the path: the mount id of the opened
/// directory differs from that of its parent, is listed in mountinfo, and the
/// device listed there is the one that fstat() reports. The last component is
/// not followed when it is a symbolic link; those before it are, because
/// /var/lib/kubelet is one on many nodes.
///
/// FAILED_PRECONDITION: nothing is mounted there, or there is no such
/// directory. UNIMPLEMENTED: it is a block device. INTERNAL: /proc cannot be
/// read. Blocks as long as the kernel needs for open(2). open(2), fstat(2),
/// proc(5) fdinfo
absl::StatusOr<MountedDirectory> OpenMountedDirectory(const LinuxRoots& roots,
                                                      const std::string& path);

}  // namespace addons

#endif  // ADDONS_NODE_MOUNTED_DIRECTORY_H_
