#ifndef ADDONS_DOCTOR_CHECK_LIMITS_H_
#define ADDONS_DOCTOR_CHECK_LIMITS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/finding.h"

namespace addons {

/// What the operating system allows this process. nullopt: not known.
struct ProcessLimits {
  std::optional<uint64_t> descriptors;  // the soft limit
  /// Of the control group and those above it, the lowest; UINT64_MAX: none.
  std::optional<uint64_t> threads;
};

/// Linux: getrlimit(); the lowest pids.max of the control group of this process
/// and of those above it in /sys/fs/cgroup, as far as they can be seen (within
/// a container the own one is the highest), or what the kernel allows where
/// none has one. `root` stands before the paths; tests give one.
ProcessLimits ReadProcessLimits(const std::string& root = "");

/// Whether they are enough for `workers` workers of the operation table and
/// connections to `clusters` clusters. Asks nobody.
Findings CheckLimits(const ProcessLimits& limits, uint64_t workers,
                     uint64_t clusters);

}  // namespace addons

#endif  // ADDONS_DOCTOR_CHECK_LIMITS_H_
