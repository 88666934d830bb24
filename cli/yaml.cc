#include "cli/yaml.h"

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "rpc/text.h"

namespace addons {
namespace {

using nlohmann::ordered_json;

constexpr size_t kIndent = 2;

bool IsWordOfYaml(absl::string_view text) {
  constexpr std::array<absl::string_view, 9> kWords = {
      "true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  for (const absl::string_view word : kWords) {
    if (absl::EqualsIgnoreCase(text, word)) return true;
  }
  return false;
}

/// Whether a text can stand without quotes. Stricter than YAML: only what
/// begins with a letter and has nothing with a meaning in it.
bool IsPlain(absl::string_view text) {
  if (text.empty() || text.back() == ' ' || IsWordOfYaml(text)) return false;
  const auto letter = [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c));
  };
  if (!letter(text.front()) && text.front() != '/') return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
        !absl::StrContains(" _./@+-", c)) {
      return false;
    }
  }
  return true;
}

/// What JSON may have in a text, and YAML may not.
bool MustBeEscaped(char32_t rune) {
  return (rune >= 0x7F && rune <= 0x9F) || rune == 0x2028 || rune == 0x2029 ||
         rune == 0xFEFF || rune == 0xFFFE || rune == 0xFFFF;
}

std::string TextOf(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string Quoted(const std::string& text) {
  const std::string quoted = TextOf(text);
  std::string yaml;
  for (absl::string_view rest = quoted; !rest.empty();) {
    const Rune rune = FirstRune(rest);
    if (MustBeEscaped(rune.value)) {
      absl::StrAppendFormat(&yaml, "\\u%04X",
                            static_cast<uint32_t>(rune.value));
    } else {
      absl::StrAppend(&yaml, rest.substr(0, rune.size));
    }
    rest.remove_prefix(rune.size);
  }
  return yaml;
}

std::string Text(const std::string& text) {
  return IsPlain(text) ? text : Quoted(text);
}

/// Of anything that fits in a line.
std::string Scalar(const ordered_json& value) {
  if (value.is_object()) return "{}";
  if (value.is_array()) return "[]";
  if (value.is_string()) return Text(value.get_ref<const std::string&>());
  std::string text = TextOf(value);
  // YAML 1.1 wants a point in a number with an exponent.
  const size_t exponent = text.find('e');
  if (value.is_number_float() && exponent != std::string::npos &&
      !absl::StrContains(text, '.')) {
    text.insert(exponent, ".0");
  }
  return text;
}

bool IsBlock(const ordered_json& value) {
  return value.is_structured() && !value.empty();
}

/// Appends a structure whose first line begins where `yaml` ends.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the answers of the daemon
void AppendBlock(const ordered_json& value, size_t column, std::string* yaml) {
  bool first = true;
  for (const auto& [key, element] : value.items()) {
    if (!first) yaml->append(column, ' ');
    first = false;
    absl::StrAppend(yaml, value.is_array() ? "-" : Text(key) + ":");
    if (!IsBlock(element)) {
      absl::StrAppend(yaml, " ", Scalar(element), "\n");
      continue;
    }
    if (value.is_array()) {
      yaml->push_back(' ');
    } else {
      yaml->push_back('\n');
      yaml->append(column + kIndent, ' ');
    }
    AppendBlock(element, column + kIndent, yaml);
  }
}

}  // namespace

std::string ToYaml(const ordered_json& value) {
  if (!IsBlock(value)) return absl::StrCat(Scalar(value), "\n");
  std::string yaml;
  AppendBlock(value, 0, &yaml);
  return yaml;
}

}  // namespace addons
