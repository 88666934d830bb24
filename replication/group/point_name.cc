#include "replication/group/point_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/uuid.h"

namespace addons {
namespace {

constexpr absl::string_view kOf = "-of-";
constexpr size_t kInstantLength = 8;

}  // namespace

std::string NewInstantMark() { return NewUuid().substr(0, kInstantLength); }

std::string GroupPointName::text() const {
  return absl::StrCat(base, kOf, members, "-", mark);
}

std::optional<GroupPointName> ParseGroupPointName(absl::string_view name) {
  const size_t of = name.rfind(kOf);
  if (of == absl::string_view::npos || of == 0) return std::nullopt;
  const absl::string_view rest = name.substr(of + kOf.size());
  const size_t dash = rest.find('-');
  GroupPointName parsed;
  if (dash == absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(0, dash), &parsed.members)) {
    return std::nullopt;
  }
  parsed.base = std::string(name.substr(0, of));
  parsed.mark = std::string(rest.substr(dash + 1));
  const bool is_mark =
      parsed.mark.size() == kInstantLength &&
      std::all_of(parsed.mark.begin(), parsed.mark.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
               (c >= 'a' && c <= 'f');
      });
  if (!is_mark || parsed.text() != name) return std::nullopt;
  return parsed;
}

}  // namespace addons
