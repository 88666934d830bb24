#ifndef ADDONS_SERVER_DURATION_H_
#define ADDONS_SERVER_DURATION_H_

#include <chrono>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// "90" (seconds), "90s", "1m30s", "500ms". INVALID_ARGUMENT for anything else,
/// for a negative duration and for one of more than a week.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(absl::string_view text);

/// "90s", "500ms": readable by ParseDuration().
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace addons

#endif  // ADDONS_SERVER_DURATION_H_
