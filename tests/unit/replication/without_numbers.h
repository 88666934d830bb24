#ifndef ADDONS_TESTS_UNIT_REPLICATION_WITHOUT_NUMBERS_H_
#define ADDONS_TESTS_UNIT_REPLICATION_WITHOUT_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace addons::testing {

/// The numbers of a text, of which some are ages, are others a second later.
inline std::string WithoutNumbers(absl::string_view text) {
  std::string without;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !without.empty() && without.back() == '#') continue;
    without.push_back(digit ? '#' : c);
  }
  return without;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_UNIT_REPLICATION_WITHOUT_NUMBERS_H_
