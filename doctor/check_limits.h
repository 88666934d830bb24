#ifndef ADDONS_DOCTOR_CHECK_LIMITS_H_
#define ADDONS_DOCTOR_CHECK_LIMITS_H_

#include <cstdint>
#include <optional>

#include "doctor/finding.h"

namespace addons {

/// What the operating system allows this process. nullopt: not known.
struct ProcessLimits {
  std::optional<uint64_t> descriptors;  // the soft limit
  /// Of the control group, with its threads; UINT64_MAX: none.
  std::optional<uint64_t> threads;
};

/// Linux: getrlimit(); pids.max of the control group in /sys/fs/cgroup, or what
/// the kernel allows where that group has none.
ProcessLimits ReadProcessLimits();

/// Whether they are enough for `workers` workers of the operation table and
/// connections to `clusters` clusters. Asks nobody.
Findings CheckLimits(const ProcessLimits& limits, uint64_t workers,
                     uint64_t clusters);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_LIMITS_H_
