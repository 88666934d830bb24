#ifndef ADDONS_SERVER_CORE_DUMPS_H_
#define ADDONS_SERVER_CORE_DUMPS_H_

#include "absl/status/status.h"

namespace addons {

/// From now on the kernel writes no core dump of this process, also not to a
/// program that collects them, and only root can look into its memory. Programs
/// that it starts inherit the first part only.
absl::Status ForbidCoreDumps();

}  // namespace addons

#endif  // ADDONS_SERVER_CORE_DUMPS_H_
