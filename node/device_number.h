#ifndef ADDONS_NODE_DEVICE_NUMBER_H_
#define ADDONS_NODE_DEVICE_NUMBER_H_

#include <sys/sysmacros.h>
#include <sys/types.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace addons {

/// A block device as the kernel counts them.
struct DeviceNumber {
  unsigned major = 0;
  unsigned minor = 0;

  static DeviceNumber Of(dev_t device) {
    return {gnu_dev_major(device), gnu_dev_minor(device)};
  }
  /// "253:0"
  std::string ToString() const { return absl::StrCat(major, ":", minor); }

  friend bool operator==(const DeviceNumber&, const DeviceNumber&) = default;
};

}  // namespace addons

#endif  // ADDONS_NODE_DEVICE_NUMBER_H_
