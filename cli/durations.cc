#include "cli/durations.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "rpc/text.h"

namespace addons {
namespace {

constexpr size_t kMostShownDuration = 40;

}  // namespace

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
      absl::StrCat("'", CleanLine(text, kMostShownDuration),
                   "' is no duration such as 90 (seconds), 90s or 1m30s"));
}

CLI::Validator AsSeconds() {
  return {[](std::string& text) -> std::string {
            const absl::StatusOr<double> seconds = ParseSeconds(text);
            if (!seconds.ok()) return std::string(seconds.status().message());
            // Whole seconds are also for options that hold no fractions.
            text = *seconds == std::floor(*seconds) && std::abs(*seconds) < 1e15
                       ? absl::StrCat(static_cast<int64_t>(*seconds))
                       : absl::StrCat(*seconds);
            return "";
          },
          ""};
}

}  // namespace addons
