#include "ceph/librados/fault_plan.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace addons {
namespace {

constexpr int kMaxErrno = 4095;
constexpr int kMaxHangMs = 3'600'000;

std::optional<int> ParseValue(absl::string_view text, int max) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 1 || value > max) {
    return std::nullopt;
  }
  return value;
}

/// Fills action and value; false: not an action.
bool ParseAction(absl::string_view text, Fault& fault) {
  if (text == "kill") {
    fault.action = Fault::Action::kKill;
    return true;
  }
  if (text == "kill-after") {
    fault.action = Fault::Action::kKillAfter;
    return true;
  }
  int max = kMaxErrno;
  if (absl::ConsumePrefix(&text, "errno=")) {
    fault.action = Fault::Action::kErrno;
  } else if (absl::ConsumePrefix(&text, "errno-after=")) {
    fault.action = Fault::Action::kErrnoAfter;
  } else if (absl::ConsumePrefix(&text, "hang=")) {
    fault.action = Fault::Action::kHang;
    max = kMaxHangMs;
  } else {
    return false;
  }
  const std::optional<int> value = ParseValue(text, max);
  fault.value = value.value_or(0);
  return value.has_value();
}

bool ParseCall(absl::string_view text, Fault& fault) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('#', 1));
  fault.call = std::string(parts.first);
  for (const char c : parts.first) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') {
      return false;
    }
  }
  if (fault.call.empty()) return false;
  if (parts.first.size() == text.size()) return true;
  return absl::SimpleAtoi(parts.second, &fault.nth) && fault.nth > 0;
}

}  // namespace

absl::StatusOr<std::vector<Fault>> ParseFaults(absl::string_view text) {
  std::vector<Fault> faults;
  for (absl::string_view entry : absl::StrSplit(text, ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty() && text.empty()) break;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits(':', 1));
    Fault fault;
    if (!ParseCall(parts.first, fault) || !ParseAction(parts.second, fault)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Failed to read fault '", entry,
          "': expected <call>[#n]:<kill|kill-after|errno=N|errno-after=N|"
          "hang=ms>"));
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

FaultPlan::FaultPlan(std::vector<Fault> faults) {
  faults_.reserve(faults.size());
  for (Fault& fault : faults) faults_.push_back({std::move(fault), 0});
}

std::vector<Fault> FaultPlan::Arrive(absl::string_view call) {
  std::vector<Fault> hits;
  MutexLock lock(mutex_);
  for (Counted& counted : faults_) {
    if (counted.fault.call != call) continue;
    ++counted.calls;
    if (counted.fault.nth == 0 || counted.fault.nth == counted.calls) {
      hits.push_back(counted.fault);
    }
  }
  return hits;
}

}  // namespace addons
