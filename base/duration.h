#ifndef ADDONS_BASE_DURATION_H_
#define ADDONS_BASE_DURATION_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

// One grammar of durations, for the daemon's flags and the command line.

/// "90" (seconds), "0.5", "90s", "1m30s", "500ms", "2h" as seconds, also
/// negative ones. INVALID_ARGUMENT for anything else; the message does not
/// repeat the text.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

/// The same to the millisecond. INVALID_ARGUMENT also: it is negative, or more
/// than a week.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(absl::string_view text);

/// "90s", "500ms": readable by ParseDuration().
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace addons

#endif  // ADDONS_BASE_DURATION_H_
