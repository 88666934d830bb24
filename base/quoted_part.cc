#include "base/quoted_part.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace addons {

absl::string_view QuotedPart(absl::string_view text) {
  const size_t begin = text.find('\'');
  const size_t end = text.rfind('\'');
  if (begin == absl::string_view::npos || end <= begin) return {};
  return text.substr(begin + 1, end - begin - 1);
}

std::string WithQuotedPart(absl::string_view text, absl::string_view name) {
  const absl::string_view part = QuotedPart(text);
  if (part.empty()) return std::string(text);
  const auto begin = static_cast<size_t>(part.data() - text.data());
  return absl::StrCat(text.substr(0, begin), name,
                      text.substr(begin + part.size()));
}

}  // namespace addons
