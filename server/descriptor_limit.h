#ifndef ADDONS_SERVER_DESCRIPTOR_LIMIT_H_
#define ADDONS_SERVER_DESCRIPTOR_LIMIT_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace addons {

/// Lets this process have as many open descriptors as its hard limit allows, at
/// most a million, and returns how many that are. The usual soft limit of 1024
/// is for programs that use select(2); librados holds a connection per OSD,
/// cluster and user. Never lowers the limit. INTERNAL: the operating system
/// refuses.
absl::StatusOr<uint64_t> RaiseDescriptorLimit();

}  // namespace addons

#endif  // ADDONS_SERVER_DESCRIPTOR_LIMIT_H_
