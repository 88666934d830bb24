#ifndef ADDONS_CLI_DURATIONS_H_
#define ADDONS_CLI_DURATIONS_H_

#include <CLI/CLI.hpp>

namespace addons {

/// Of an option that holds seconds: takes what ParseSeconds() takes. The range
/// is checked by a check of the option.
CLI::Validator AsSeconds();

}  // namespace addons

#endif  // ADDONS_CLI_DURATIONS_H_
