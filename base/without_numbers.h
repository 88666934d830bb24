#ifndef ADDONS_BASE_WITHOUT_NUMBERS_H_
#define ADDONS_BASE_WITHOUT_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// The text with "#" for each number, to tell messages apart by what they say:
/// ages and counters must not make every one look new.
std::string WithoutNumbers(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_BASE_WITHOUT_NUMBERS_H_
