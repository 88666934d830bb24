#include "server/duration.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace addons {

absl::StatusOr<std::chrono::milliseconds> ParseDuration(
    absl::string_view text) {
  absl::Duration duration;
  uint32_t seconds = 0;
  if (absl::SimpleAtoi(text, &seconds)) {
    duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &duration)) {
    return absl::InvalidArgumentError("is not a duration such as 90s or 1m30s");
  }
  if (duration < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("is negative");
  }
  if (duration > absl::Hours(24 * 7)) {
    return absl::InvalidArgumentError("is more than a week");
  }
  return absl::ToChronoMilliseconds(duration);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  if (duration.count() % 1000 != 0) return absl::StrCat(duration.count(), "ms");
  return absl::StrCat(duration.count() / 1000, "s");
}

}  // namespace addons
