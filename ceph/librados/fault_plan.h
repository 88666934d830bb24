#ifndef ADDONS_CEPH_LIBRADOS_FAULT_PLAN_H_
#define ADDONS_CEPH_LIBRADOS_FAULT_PLAN_H_

#ifndef ADDONS_FAULT_POINTS
#error "fault_plan.h belongs to builds with ADDONS_FAULT_POINTS"
#endif

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace addons {

/// What a fault does to one call of librados or librbd.
struct Fault {
  enum class Action {
    kKill,        // SIGKILL to this process instead of the call
    kKillAfter,   // the same, right after the call returned
    kErrno,       // no call, -value is returned
    kErrnoAfter,  // the call is made, -value is returned
    kHang,        // the call is made `value` milliseconds later
  };
  std::string call;
  uint64_t nth = 0;  // only the n-th call of this name; 0: every one
  Action action = Action::kKill;
  int value = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Reads a comma list of `<call>[#n]:<action>`, where the action is kill,
/// kill-after, errno=<N>, errno-after=<N> or hang=<ms>. INVALID_ARGUMENT names
/// the entry that is wrong. Empty text is a plan without faults.
absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text);

/// Counts calls and tells which faults hit. Thread-safe.
class FaultPlan {
 public:
  explicit FaultPlan(std::vector<Fault> faults);

  /// Counts one call of this name and returns the faults that hit it, in the
  /// order in which they were written.
  std::vector<Fault> Arrive(absl::string_view call);

 private:
  struct Counted {
    Fault fault;
    uint64_t calls = 0;
  };
  Mutex mutex_;
  std::vector<Counted> faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_FAULT_PLAN_H_
