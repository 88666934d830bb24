#ifndef ADDONS_CLI_PARAMETERS_H_
#define ADDONS_CLI_PARAMETERS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace addons {

/// "KEY=VALUE" each; the last value of a key counts. INVALID_ARGUMENT names
/// what is not of this form.
absl::StatusOr<std::map<std::string, std::string>> ParseParameters(
    const std::vector<std::string>& texts);

}  // namespace addons

#endif  // ADDONS_CLI_PARAMETERS_H_
