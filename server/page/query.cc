#include "server/page/query.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace addons {
namespace {

using State = PageQuery::State;
using Sort = PageQuery::Sort;

constexpr size_t kLongestText = 200;
constexpr std::array<State, 7> kStates = {
    State::kAll,     State::kTrouble, State::kBroken, State::kLate,
    State::kUnknown, State::kCopying, State::kInStep};
constexpr std::array<Sort, 4> kSorts = {Sort::kTrouble, Sort::kName, Sort::kAge,
                                        Sort::kLeft};

bool IsHex(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

/// As forms write it: "+" is a blank, "%2F" a slash.
std::string Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view hex = text.substr(i + 1, 2);
    uint32_t byte = 0;
    if (text[i] == '%' && hex.size() == 2 && IsHex(hex[0]) && IsHex(hex[1]) &&
        absl::SimpleHexAtoi(hex, &byte)) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string Encoded(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
        c == '.' || c == '_') {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<uint8_t>(c));
    }
  }
  return encoded;
}

/// What of `all` has this name.
template <typename Names>
typename Names::value_type Named(const Names& all, absl::string_view name,
                                 typename Names::value_type otherwise) {
  for (const auto& one : all) {
    if (Name(one) == name) return one;
  }
  return otherwise;
}

std::optional<WatchedRole> RoleNamed(absl::string_view name) {
  for (size_t i = 0; i < kWatchedRoles; ++i) {
    const auto role = static_cast<WatchedRole>(i);
    if (Name(role) == name) return role;
  }
  return std::nullopt;
}

}  // namespace

absl::string_view Name(State state) {
  switch (state) {
    case State::kTrouble:
      return "trouble";
    case State::kBroken:
      return "broken";
    case State::kLate:
      return "late";
    case State::kUnknown:
      return "unknown";
    case State::kCopying:
      return "copying";
    case State::kInStep:
      return "in-step";
    case State::kAll:
      break;
  }
  return "";
}

absl::string_view Name(Sort sort) {
  switch (sort) {
    case Sort::kName:
      return "name";
    case Sort::kAge:
      return "age";
    case Sort::kLeft:
      return "left";
    case Sort::kTrouble:
      break;
  }
  return "";
}

PageQuery PageQuery::Parse(absl::string_view query) {
  PageQuery parsed;
  for (const absl::string_view part : absl::StrSplit(query, '&')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string value = Decoded(field.second);
    if (field.first == "q") {
      parsed.text = value.substr(0, kLongestText);
    } else if (field.first == "role") {
      parsed.role = RoleNamed(value);
    } else if (field.first == "state") {
      parsed.state = Named(kStates, value, State::kAll);
    } else if (field.first == "sort") {
      parsed.sort = Named(kSorts, value, Sort::kTrouble);
    } else if (field.first == "page") {
      uint32_t page = 0;
      if (absl::SimpleAtoi(value, &page) && page > 0) parsed.page = page;
    }
  }
  return parsed;
}

bool PageQuery::Shows(WatchedRole of_role, CopyState of_state) const {
  if (role.has_value() && of_role != *role) return false;
  switch (state) {
    case State::kTrouble:
      return of_state != CopyState::kInStep && of_state != CopyState::kCopying;
    case State::kBroken:
      return of_state == CopyState::kBroken;
    case State::kLate:
      return of_state == CopyState::kLate;
    case State::kUnknown:
      return of_state == CopyState::kUnknown;
    case State::kCopying:
      return of_state == CopyState::kCopying;
    case State::kInStep:
      return of_state == CopyState::kInStep;
    case State::kAll:
      break;
  }
  return true;
}

std::string PageQuery::Link() const {
  std::vector<std::string> parts;
  if (!text.empty()) parts.push_back(absl::StrCat("q=", Encoded(text)));
  if (role.has_value()) parts.push_back(absl::StrCat("role=", Name(*role)));
  if (state != State::kAll) {
    parts.push_back(absl::StrCat("state=", Name(state)));
  }
  if (sort != Sort::kTrouble) {
    parts.push_back(absl::StrCat("sort=", Name(sort)));
  }
  return absl::StrCat("?", absl::StrJoin(parts, "&"));
}

std::string PageQuery::Link(size_t other_page) const {
  const std::string rest = Link().substr(1);
  return absl::StrCat("?page=", other_page, rest.empty() ? "" : "&", rest);
}

std::string PageQuery::Link(Sort order) const {
  PageQuery other = *this;
  other.sort = order;
  return other.Link();
}

}  // namespace addons
