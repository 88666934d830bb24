#ifndef ADDONS_RPC_ACCESS_LOG_H_
#define ADDONS_RPC_ACCESS_LOG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace addons {

/// One call, as the access log tells it.
struct AccessRecord {
  std::string request_id;
  std::string method;
  std::string object;  // ObjectOfRequest()
  absl::Status status;
  std::chrono::milliseconds took{0};
};

/// Writes one line when a call has ended: at info for calls that change
/// something and for every failure, at debug for reads. A failure that repeats
/// (same method, object and code, and the same message apart from its numbers)
/// is written once in ten seconds, with the number of those left out: the
/// operator repeats a failing call every few milliseconds. Thread-safe.
class AccessLog {
 public:
  /// `clock` is not owned.
  explicit AccessLog(Clock& clock) : clock_(clock) {}

  void Write(const AccessRecord& record);

 private:
  struct Failure {
    SteadyTime written;
    uint64_t left_out = 0;
  };

  // How many like it were left out before this one; nullopt: leave it out, too.
  std::optional<uint64_t> AdmitFailure(const AccessRecord& record);

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Failure> failures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace addons

#endif  // ADDONS_RPC_ACCESS_LOG_H_
