#ifndef ADDONS_CLI_DURATIONS_H_
#define ADDONS_CLI_DURATIONS_H_

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// "90" (seconds), "0.5", "90s", "1m30s", "500ms", "2h" as seconds.
/// INVALID_ARGUMENT for anything else.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

/// Of an option that holds seconds: takes what ParseSeconds() takes. The range
/// is checked by a check of the option.
CLI::Validator AsSeconds();

}  // namespace addons

#endif  // ADDONS_CLI_DURATIONS_H_
