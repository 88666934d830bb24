#ifndef ADDONS_TESTS_ORCHESTRATOR_CALL_LOG_H_
#define ADDONS_TESTS_ORCHESTRATOR_CALL_LOG_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace addons::testing {

/// What the operator called about one resource, and what it was answered.
/// Thread-safe.
class CallLog {
 public:
  struct Entry {
    std::string call;  // "Promote", "Promote by force", ...
    grpc::Status answer;
  };

  void Add(const std::string& call, const grpc::Status& answer);
  std::vector<Entry> Entries() const;
  /// One line per call, with seconds since the log was begun.
  std::string Text() const;

 private:
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;      // guarded by mutex_
  std::vector<std::string> lines_;  // guarded by mutex_
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_ORCHESTRATOR_CALL_LOG_H_
