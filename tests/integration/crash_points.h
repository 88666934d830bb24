#ifndef ADDONS_TESTS_INTEGRATION_CRASH_POINTS_H_
#define ADDONS_TESTS_INTEGRATION_CRASH_POINTS_H_

#include <string>
#include <vector>

namespace addons::testing {

/// The end of a daemon at one of its calls of Ceph.
struct CrashPoint {
  std::string call;
  int nth = 0;         // of this call, from 1
  bool after = false;  // the call has been made
};

/// Where a daemon can die: at each call that all of `runs` make, before and
/// after it; of a call that is made again and again, at the first twelve. Each
/// run is the names of its calls, in their order.
std::vector<CrashPoint> PointsOf(
    const std::vector<std::vector<std::string>>& runs);

/// A run of a verb in which the daemon was to die at a point.
struct CrashTry {
  bool died = false;
  bool ok = false;                   // the verb's last answer
  std::vector<std::string> calls{};  // that it made, where it did not die
};

enum class CrashReach {
  kDied,
  /// The verb came to its end with fewer of this call than there are points
  /// for: it waits for something, and repeats the call a different number of
  /// times in each run. Those that it did make have points of their own.
  kEndedBefore,
  /// The daemon was to die there, and did not: the call is not made at all, or
  /// was made and the fault did nothing, or the verb did not come to its end.
  kNeverReached,
};

/// What the tries of a point, at least one, say together.
CrashReach ReachOf(const CrashPoint& point, const std::vector<CrashTry>& tries);

}  // namespace addons::testing

#endif  // ADDONS_TESTS_INTEGRATION_CRASH_POINTS_H_
