#include "inspection/forecast.h"

namespace addons {

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorks:
      return "works";
    case Verdict::kWaits:
      return "waits";
    case Verdict::kRefuses:
      return "refuses";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

Forecast NotSeen(const absl::Status& status) {
  const bool answer = absl::IsNotFound(status) ||
                      absl::IsInvalidArgument(status) ||
                      absl::IsFailedPrecondition(status);
  return {answer ? Verdict::kRefuses : Verdict::kUnclear, status.code(),
          std::string(status.message())};
}

}  // namespace addons
