#ifndef ADDONS_NODE_KERNEL_CLIENTS_H_
#define ADDONS_NODE_KERNEL_CLIENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/linux_roots.h"

namespace addons {

/// A device that the kernel's own RBD client (krbd) has mapped, as sysfs tells
/// of it (bus rbd, Documentation/ABI/testing/sysfs-bus-rbd). What an old kernel
/// does not tell is empty.
struct KernelClient {
  std::string device;  // "rbd0"
  std::string pool;
  std::string rados_namespace;
  std::string image;    // its name
  std::string fsid;     // of the cluster
  std::string address;  // as the cluster sees it: "10.0.0.7:0/4123"
};

/// That of the device with this number, of which nothing is known where all is
/// empty but its name. Reads files of /sys only.
KernelClient ReadKernelClient(const LinuxRoots& roots,
                              const std::string& number);

/// All of this host, whatever container has mapped them, in the order of their
/// names. UNAVAILABLE: /sys is not there, or cannot be read, so that there may
/// be some. Reads files of /sys only. Thread-safe.
absl::StatusOr<std::vector<KernelClient>> ListKernelClients(
    const LinuxRoots& roots);

}  // namespace addons

#endif  // ADDONS_NODE_KERNEL_CLIENTS_H_
