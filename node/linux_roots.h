#ifndef ADDONS_NODE_LINUX_ROOTS_H_
#define ADDONS_NODE_LINUX_ROOTS_H_

#include <string>

namespace addons {

/// Where the kernel's file systems are; tests put trees of files in their
/// place.
struct LinuxRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
};

}  // namespace addons

#endif  // ADDONS_NODE_LINUX_ROOTS_H_
