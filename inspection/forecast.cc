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

Forecast ForecastOf(const Next& next) {
  if (next.answers()) {
    return {next.code == absl::StatusCode::kOk ? Verdict::kWorks
                                               : Verdict::kRefuses,
            next.code, next.reason};
  }
  // A wait that ends with an answer which makes others act is a refusal.
  if (next.waits()) {
    return {next.code == absl::StatusCode::kUnavailable ? Verdict::kWaits
                                                        : Verdict::kRefuses,
            next.code, next.reason};
  }
  switch (next.step) {
    case Step::kYield:
      return {Verdict::kRefuses, next.code, next.reason};
    case Step::kSaveHalfCopy:
    case Step::kRestore:
      return {Verdict::kUnclear, absl::StatusCode::kUnavailable, next.reason};
    default:
      return {Verdict::kWorks, next.code, next.reason};
  }
}

Forecast NotSeen(const absl::Status& status) {
  const bool answer = absl::IsNotFound(status) ||
                      absl::IsInvalidArgument(status) ||
                      absl::IsFailedPrecondition(status);
  return {answer ? Verdict::kRefuses : Verdict::kUnclear, status.code(),
          std::string(status.message())};
}

}  // namespace addons
