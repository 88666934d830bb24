#include "base/without_numbers.h"

#include "absl/strings/ascii.h"

namespace addons {

std::string WithoutNumbers(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      result.push_back(c);
    } else if (result.empty() || result.back() != '#') {
      result.push_back('#');
    }
  }
  return result;
}

}  // namespace addons
