#ifndef ADDONS_CEPH_LIBRADOS_CALL_GATE_H_
#define ADDONS_CEPH_LIBRADOS_CALL_GATE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"

#ifdef ADDONS_FAULT_POINTS
#include "ceph/librados/fault_plan.h"
#endif

namespace addons {

/// How long the calls of one C function took.
struct CallHistogram {
  /// Upper bounds of the buckets in seconds; one more bucket has no bound.
  static constexpr std::array<double, 14> kBounds = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
      0.25,  0.5,    1,     2.5,  5,     10,   60};

  std::string call;  // "rbd_mirror_image_promote"
  uint64_t count = 0;
  uint64_t failures = 0;  // of count: with a negative result
  std::chrono::duration<double> sum{0};
  /// buckets[i]: calls within kBounds[i] and above the bound before.
  std::array<uint64_t, kBounds.size() + 1> buckets{};
};

/// The one place through which calls to librados and librbd go that can block
/// or reach the cluster: it knows their names and times them. One object serves
/// all connections of the process. Thread-safe.
///
/// Built with ADDONS_FAULT_POINTS it also is where the fault suite strikes: the
/// environment variable RBD_ADDONS_FAULTS (see ParseFaults()) is read once,
/// when the gate is made. A wrong value ends the process: a fault run without
/// its faults would prove nothing. RBD_ADDONS_CALL_TRACE names a file into
/// which all calls are written (see CallTrace).
class CallGate {
 public:
  /// `clock` must outlive the gate.
  explicit CallGate(Clock& clock);
#ifdef ADDONS_FAULT_POINTS
  CallGate(Clock& clock, std::vector<Fault> faults);
#endif
  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  /// Makes the call and returns its result. `name` is the C function's name.
  int Call(absl::string_view name, absl::FunctionRef<int()> call);

  /// One entry per function called so far, by name.
  std::vector<CallHistogram> Snapshot() const;

 private:
  int Dispatch(absl::string_view name, absl::FunctionRef<int()> call);
  void Record(absl::string_view name, SteadyDuration took, int result);

  Clock& clock_;
  mutable Mutex mutex_;
  std::map<std::string, CallHistogram, std::less<>> histograms_
      ABSL_GUARDED_BY(mutex_);
#ifdef ADDONS_FAULT_POINTS
  FaultPlan faults_;
#endif
};

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_CALL_GATE_H_
