#include "base/duration.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace addons {

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds)) {
    absl::Duration duration;
    seconds = absl::ParseDuration(text, &duration)
                  ? absl::ToDoubleSeconds(duration)
                  : std::nan("");
  }
  if (std::isfinite(seconds)) return seconds;
  return absl::InvalidArgumentError(
      "is no duration such as 90 (seconds), 90s or 1m30s");
}

absl::StatusOr<std::chrono::milliseconds> ParseDuration(
    absl::string_view text) {
  constexpr double kWeek = 7 * 24 * 3600;
  ADDONS_ASSIGN_OR_RETURN(const double seconds, ParseSeconds(text));
  if (seconds < 0) return absl::InvalidArgumentError("is negative");
  if (seconds > kWeek) {
    return absl::InvalidArgumentError("is more than a week");
  }
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::round(seconds * 1000)));
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  if (duration.count() % 1000 != 0) return absl::StrCat(duration.count(), "ms");
  return absl::StrCat(duration.count() / 1000, "s");
}

}  // namespace addons
