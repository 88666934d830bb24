#include "server/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

namespace addons {

absl::Status ForbidCoreDumps() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) {
    return absl::ErrnoToStatus(errno, "Failed to set the limit of core dumps");
  }
  // A program that core dumps are piped to gets them whatever the limit is.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    return absl::ErrnoToStatus(errno, "Failed to forbid core dumps");
  }
  return absl::OkStatus();
}

}  // namespace addons
