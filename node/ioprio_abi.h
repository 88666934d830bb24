#ifndef ADDONS_NODE_IOPRIO_ABI_H_
#define ADDONS_NODE_IOPRIO_ABI_H_

/// The numbers of ioprio_get(2) and ioprio_set(2), which are part of the
/// kernel's fixed interface. glibc has no header for them, and the kernel's
/// own, <linux/ioprio.h>, is not C++ in every release: that of Linux 6.1.192
/// (Debian 12) has an inline function with a parameter named `class`.
namespace addons::ioprio {

/// `which`: the thread with the given id, 0 for the calling one.
inline constexpr int kWhoProcess = 1;

/// A priority is a class above this many bits, and a level from 0 to 7 below.
inline constexpr int kClassShift = 13;

inline constexpr int kClassBestEffort = 2;
inline constexpr int kClassIdle = 3;

}  // namespace addons::ioprio

#endif  // ADDONS_NODE_IOPRIO_ABI_H_
