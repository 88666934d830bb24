#ifndef ADDONS_BASE_PARAMETER_KEYS_H_
#define ADDONS_BASE_PARAMETER_KEYS_H_

#include <initializer_list>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Whether no key of `map` is one of `known` misspelt: with other case, or with
/// one letter that is another, too many or missing. It would be ignored, and
/// with it what it asks for, and nobody would notice. Keys that are like none
/// of them are somebody else's. INVALID_ARGUMENT names both.
absl::Status CheckParameterKeys(const std::map<std::string, std::string>& map,
                                std::initializer_list<absl::string_view> known);

/// INVALID_ARGUMENT: "parameter 'key' is 'value': allowed". Of a long value the
/// beginning is shown.
absl::Status InvalidParameter(absl::string_view key, absl::string_view value,
                              absl::string_view allowed);

}  // namespace addons

#endif  // ADDONS_BASE_PARAMETER_KEYS_H_
