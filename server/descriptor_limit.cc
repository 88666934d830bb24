#include "server/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

// Programs that this process starts inherit the limit, and some close every
// number below it.
constexpr rlim_t kMost = rlim_t{1} << 20;

// More than that no installation needs, and each connection holds memory.
constexpr uint64_t kMostOfCallers = 12'000;
constexpr uint64_t kMoreForAdministrators = 256;

}  // namespace

absl::StatusOr<uint64_t> RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    // RLIM_INFINITY is the largest number.
    const rlim_t wanted =
        std::max(limit.rlim_cur, std::min(limit.rlim_max, kMost));
    if (wanted == limit.rlim_cur) return limit.rlim_cur;
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return limit.rlim_cur;
  }
  return absl::InternalError(
      absl::StrCat("Failed to raise the limit of descriptors: errno ", errno));
}

DescriptorBounds BoundDescriptors(uint64_t limit) {
  return {std::min(kMostOfCallers, limit / 4 * 3),
          std::min(kMostOfCallers + kMoreForAdministrators, limit / 8 * 7)};
}

uint64_t DescriptorLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace addons
