#include "tests/orchestrator/call_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons::testing {

void CallLog::Add(const std::string& call, const grpc::Status& answer) {
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin_);
  const std::lock_guard lock(mutex_);
  entries_.push_back({call, answer});
  lines_.push_back(absl::StrCat(
      static_cast<double>(passed.count()) / 1000, " ", call, ": ",
      answer.ok() ? std::string("OK")
                  : absl::StrCat("code ", static_cast<int>(answer.error_code()),
                                 ": ", answer.error_message())));
}

std::vector<CallLog::Entry> CallLog::Entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::string CallLog::Text() const {
  const std::lock_guard lock(mutex_);
  return absl::StrJoin(lines_, "\n");
}

}  // namespace addons::testing
