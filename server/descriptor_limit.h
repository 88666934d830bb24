#ifndef ADDONS_SERVER_DESCRIPTOR_LIMIT_H_
#define ADDONS_SERVER_DESCRIPTOR_LIMIT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace addons {

/// Lets this process have as many open descriptors as its hard limit allows, at
/// most a million, and returns how many that are. The usual soft limit of 1024
/// is for programs that use select(2); librados holds a connection per OSD,
/// cluster and user. Never lowers the limit. INTERNAL: the operating system
/// refuses.
absl::StatusOr<uint64_t> RaiseDescriptorLimit();

/// With so many descriptors open in the process, a socket lets nobody more in:
/// Ceph, files and those who are in go on.
struct DescriptorBounds {
  size_t callers = 0;
  size_t administrators = 0;  // more: they get in when callers do not any more
};

/// For a process that may have `limit` descriptors.
DescriptorBounds BoundDescriptors(uint64_t limit);

/// The limit that is in force now.
uint64_t DescriptorLimit();

}  // namespace addons

#endif  // ADDONS_SERVER_DESCRIPTOR_LIMIT_H_
