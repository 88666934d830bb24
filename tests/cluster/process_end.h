#ifndef ADDONS_TESTS_CLUSTER_PROCESS_END_H_
#define ADDONS_TESTS_CLUSTER_PROCESS_END_H_

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <string>

namespace addons::testing {

// What is told of a process that ended, so that its end is understood without
// doing it again.

/// "exit code 3" or "signal 11 (Segmentation fault)"; `end` is from waitid().
std::string EndText(const siginfo_t& end);

/// The last `count` lines of a file; empty when it cannot be read.
std::string LastLines(const std::string& path, size_t count);

/// What memory is left on this machine, and how busy it is. Linux, /proc
std::string MachineText();

/// From now on a crash of this process leaves its memory image, in its working
/// folder where the kernel is set up for that. Async-signal-safe.
void AllowCore();

/// Where each thread of `program` was when it crashed as `pid` in `folder`, by
/// its memory image and gdb; the image is removed. Empty where either is not to
/// be had. Takes seconds.
std::string BackTrace(const std::string& program, const std::string& folder,
                      pid_t pid);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_CLUSTER_PROCESS_END_H_
