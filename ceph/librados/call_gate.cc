#include "ceph/librados/call_gate.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#ifdef ADDONS_FAULT_POINTS
#include <csignal>
#include <cstdlib>
#include <stop_token>
#include <utility>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "ceph/librados/call_trace.h"
#endif

namespace addons {

#ifdef ADDONS_FAULT_POINTS
namespace {

std::vector<Fault> FaultsOfEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): once, when the process starts.
  const char* const text = std::getenv("RBD_ADDONS_FAULTS");
  absl::StatusOr<std::vector<Fault>> faults =
      ParseFaults(text == nullptr ? "" : text);
  if (!faults.ok()) {
    Log().critical("RBD_ADDONS_FAULTS: {}",
                   std::string(faults.status().message()));
    std::abort();
  }
  return *std::move(faults);
}

const CallTrace& TraceOfEnvironment() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing writes it.
  static const CallTrace trace(std::getenv("RBD_ADDONS_CALL_TRACE"));
  return trace;
}

}  // namespace

CallGate::CallGate(Clock& clock) : CallGate(clock, FaultsOfEnvironment()) {}

CallGate::CallGate(Clock& clock, std::vector<Fault> faults)
    : clock_(clock), faults_(std::move(faults)) {}

int CallGate::Dispatch(absl::string_view name, absl::FunctionRef<int()> call) {
  TraceOfEnvironment().Arrive(name);
  const std::vector<Fault> faults = faults_.Arrive(name);
  for (const Fault& fault : faults) {
    if (fault.action == Fault::Action::kKill) std::raise(SIGKILL);
    if (fault.action == Fault::Action::kErrno) return -fault.value;
    if (fault.action == Fault::Action::kHang) {
      clock_.SleepFor(std::chrono::milliseconds(fault.value),
                      std::stop_token());
    }
  }
  int result = call();
  for (const Fault& fault : faults) {
    if (fault.action == Fault::Action::kKillAfter) std::raise(SIGKILL);
    if (fault.action == Fault::Action::kErrnoAfter) result = -fault.value;
  }
  return result;
}
#else
CallGate::CallGate(Clock& clock) : clock_(clock) {}

int CallGate::Dispatch(absl::string_view /*name*/,
                       absl::FunctionRef<int()> call) {
  return call();
}
#endif

int CallGate::Call(absl::string_view name, absl::FunctionRef<int()> call) {
  const SteadyTime start = clock_.Now();
  const int result = Dispatch(name, call);
  Record(name, clock_.Now() - start, result);
  return result;
}

void CallGate::Record(absl::string_view name, SteadyDuration took, int result) {
  const std::chrono::duration<double> seconds = took;
  const auto bucket = static_cast<size_t>(std::distance(
      CallHistogram::kBounds.begin(),
      std::lower_bound(CallHistogram::kBounds.begin(),
                       CallHistogram::kBounds.end(), seconds.count())));
  MutexLock lock(mutex_);
  auto it = histograms_.find(name);
  if (it == histograms_.end()) {
    it = histograms_.emplace(std::string(name), CallHistogram()).first;
    it->second.call = it->first;
  }
  CallHistogram& histogram = it->second;
  ++histogram.count;
  if (result < 0) ++histogram.failures;
  histogram.sum += seconds;
  ++histogram.buckets.at(bucket);
}

std::vector<CallHistogram> CallGate::Snapshot() const {
  std::vector<CallHistogram> snapshot;
  MutexLock lock(mutex_);
  snapshot.reserve(histograms_.size());
  for (const auto& [name, histogram] : histograms_) {
    snapshot.push_back(histogram);
  }
  return snapshot;
}

}  // namespace addons
