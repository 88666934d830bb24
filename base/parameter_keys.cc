#include "base/parameter_keys.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace addons {
namespace {

/// Equal but for case and one letter that is another, too many or missing.
bool LooksLike(absl::string_view key, absl::string_view known) {
  const std::string a = absl::AsciiStrToLower(key);
  const std::string b = absl::AsciiStrToLower(known);
  if (a.size() > b.size() + 1 || b.size() > a.size() + 1) return false;
  const size_t shorter = std::min(a.size(), b.size());
  size_t same = 0;  // letters that are equal at the beginning
  while (same < shorter && a[same] == b[same]) ++same;
  const size_t skip_a = a.size() >= b.size() ? 1 : 0;
  const size_t skip_b = b.size() >= a.size() ? 1 : 0;
  return a == b || a.substr(std::min(same + skip_a, a.size())) ==
                       b.substr(std::min(same + skip_b, b.size()));
}

}  // namespace

absl::Status CheckParameterKeys(
    const std::map<std::string, std::string>& map,
    std::initializer_list<absl::string_view> known) {
  for (const auto& [key, value] : map) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const absl::string_view meant : known) {
      if (!LooksLike(key, meant)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", absl::CHexEscape(key.substr(0, 64)),
                       "' is not known; is '", meant, "' meant?"));
    }
  }
  return absl::OkStatus();
}

absl::Status InvalidParameter(absl::string_view key, absl::string_view value,
                              absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("parameter '", key, "' is '",
                   absl::CHexEscape(value.substr(0, 64)), "': ", allowed));
}

}  // namespace addons
