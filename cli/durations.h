#ifndef ADDONS_CLI_DURATIONS_H_
#define ADDONS_CLI_DURATIONS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace addons {

/// Of an option that holds seconds: takes what ParseSeconds() takes. The range
/// is checked by a check of the option.
CLI::Validator AsSeconds();

/// What --timeout is, of most verbs.
inline constexpr char kWaitText[] = "Seconds to wait, or 90s, 5m";
/// --timeout, in seconds; `seconds` holds the default.
void AddTimeoutOption(CLI::App& command, double& seconds,
                      const std::string& text);

}  // namespace addons

#endif  // ADDONS_CLI_DURATIONS_H_
