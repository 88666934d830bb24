#include "cli/parameters.h"

#include "absl/strings/str_cat.h"

namespace addons {

absl::StatusOr<std::map<std::string, std::string>> ParseParameters(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> parameters;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--parameter '", text, "' is not KEY=VALUE"));
    }
    parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return parameters;
}

}  // namespace addons
