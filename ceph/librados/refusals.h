#ifndef ADDONS_CEPH_LIBRADOS_REFUSALS_H_
#define ADDONS_CEPH_LIBRADOS_REFUSALS_H_

#include <atomic>
#include <cerrno>
#include <chrono>

#include "absl/strings/string_view.h"
#include "base/clock.h"

namespace addons {

/// What one connection was refused, and when it is to be made anew for that:
/// what a user may is settled when it connects, so capabilities that were given
/// later show on a new connection only. Thread-safe.
class Refusals {
 public:
  /// So old is a connection at least before what its user may not is asked of a
  /// new one: that a user may not run a command is ordinary, too.
  static constexpr std::chrono::seconds kAge{10};

  explicit Refusals(SteadyTime connected) : connected_(connected) {}

  /// `result` of the Ceph call `name`.
  void Note(absl::string_view name, int result) {
    if (result != -EACCES && result != -EPERM) return;
    // EACCES of an OSD: it does not take this client's ticket any more.
    if (result == -EACCES && name != "rados_mon_command" &&
        name != "rados_mgr_command") {
      at_once_ = true;
    } else {
      in_time_ = true;
    }
  }
  bool AskAnew(SteadyTime now) const {
    return at_once_ || (in_time_ && now - connected_ >= kAge);
  }

 private:
  const SteadyTime connected_;
  std::atomic<bool> at_once_ = false;
  std::atomic<bool> in_time_ = false;
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_REFUSALS_H_
