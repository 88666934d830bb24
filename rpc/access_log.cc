#include "rpc/access_log.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/without_numbers.h"
#include "rpc/method.h"

namespace addons {
namespace {

constexpr std::chrono::seconds kQuietTime(10);
constexpr size_t kRememberedFailures = 1024;

// Whose OK says nothing by itself: the operator asks again and again until the
// copy is there. The verb logs what is new.
bool IsPolled(absl::string_view method) {
  return absl::EndsWith(method, "/ResyncVolume");
}

std::string Line(const AccessRecord& record, uint64_t left_out) {
  std::string line = absl::StrCat(
      "call method=", record.method, record.object.empty() ? "" : " ",
      record.object, " code=", absl::StatusCodeToString(record.status.code()),
      " dur_ms=", record.took.count(), " req=", record.request_id);
  if (!record.status.ok()) {
    absl::StrAppend(&line, " message=", Quoted(record.status.message()));
  }
  if (left_out > 0) absl::StrAppend(&line, " repeated=", left_out);
  return line;
}

}  // namespace

void AccessLog::Write(const AccessRecord& record) {
  LogLevel level = IsMutating(record.method) && !IsPolled(record.method)
                       ? LogLevel::kInfo
                       : LogLevel::kDebug;
  uint64_t left_out = 0;
  if (!record.status.ok()) {
    const std::optional<uint64_t> admitted = AdmitFailure(record);
    level = admitted.has_value() ? LogLevel::kInfo : LogLevel::kDebug;
    left_out = admitted.value_or(0);
  }
  if (Log().should_log(level)) Log().log(level, "{}", Line(record, left_out));
}

std::optional<uint64_t> AccessLog::AdmitFailure(const AccessRecord& record) {
  const SteadyTime now = clock_.Now();
  const std::string key = absl::StrCat(record.method, "\n", record.object, "\n",
                                       record.status.code(), "\n",
                                       WithoutNumbers(record.status.message()));
  const MutexLock lock(mutex_);
  const auto it = failures_.find(key);
  if (it == failures_.end()) {
    if (failures_.size() >= kRememberedFailures) {
      std::erase_if(failures_, [&](const auto& entry) {
        return now - entry.second.written >= kQuietTime;
      });
    }
    // A full table of fresh failures is a storm of different ones: all are new.
    if (failures_.size() < kRememberedFailures)
      failures_[key] = Failure{now, 0};
    return 0;
  }
  Failure& failure = it->second;
  if (now - failure.written < kQuietTime) {
    ++failure.left_out;
    return std::nullopt;
  }
  const uint64_t left_out = failure.left_out;
  failure = Failure{now, 0};
  return left_out;
}

}  // namespace addons
