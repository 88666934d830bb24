#include "inspection/forecast.h"

namespace addons {

Forecast ForecastOf(const Next& next) {
  Forecast forecast{Verdict::kWorks, next.code, next.reason,
                    std::string(next.row)};
  const bool ok = next.code == absl::StatusCode::kOk;
  const bool unavailable = next.code == absl::StatusCode::kUnavailable;
  if (next.answers()) {
    if (!ok) forecast.verdict = Verdict::kRefuses;
  } else if (next.waits() || next.step == Step::kResumeDemotionCopy) {
    // A wait that ends with an answer which makes others act is a refusal.
    forecast.verdict = unavailable ? Verdict::kWaits : Verdict::kRefuses;
  } else if (next.step == Step::kYield) {
    forecast.verdict = Verdict::kRefuses;
  } else if (next.step == Step::kSaveHalfCopy || next.step == Step::kRestore) {
    forecast.verdict = Verdict::kUnclear;
    forecast.code = absl::StatusCode::kUnavailable;
  }
  return forecast;
}

Forecast NotSeen(const absl::Status& status) {
  const bool answer = absl::IsNotFound(status) ||
                      absl::IsInvalidArgument(status) ||
                      absl::IsFailedPrecondition(status);
  return {answer ? Verdict::kRefuses : Verdict::kUnclear, status.code(),
          std::string(status.message())};
}

}  // namespace addons
