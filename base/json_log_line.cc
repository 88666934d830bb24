#include "base/json_log_line.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace addons {
namespace {

struct Field {
  absl::string_view name;
  std::string value;
};

std::string JsonString(absl::string_view text) {
  return ReplacedJsonText(std::string(text));
}

bool InName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// The length of "name=" at the beginning of `text`; 0: there is none.
size_t NameLength(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && InName(text[length])) ++length;
  const bool named = length > 0 && length < text.size() && text[length] == '=';
  return named ? length + 1 : 0;
}

/// The length of the value at the beginning of `text`, quotes and all.
size_t ValueLength(absl::string_view text) {
  if (text.empty() || text[0] != '"')
    return text.substr(0, text.find(' ')).size();
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

std::string ValueOf(absl::string_view written) {
  const bool quoted =
      written.size() >= 2 && written.front() == '"' && written.back() == '"';
  if (!quoted) return std::string(written);
  const absl::string_view inner = written.substr(1, written.size() - 2);
  std::string value;
  return absl::CUnescape(inner, &value) ? value : std::string(inner);
}

/// False: `text` is more, or something else, than fields.
bool ParseFields(absl::string_view text, std::vector<Field>* fields) {
  while (!text.empty()) {
    const size_t name = NameLength(text);
    if (name == 0) return false;
    const absl::string_view key = text.substr(0, name - 1);
    text.remove_prefix(name);
    const size_t value = ValueLength(text);
    fields->push_back({key, ValueOf(text.substr(0, value))});
    text.remove_prefix(value);
    if (text.empty()) break;
    if (text[0] != ' ') return false;
    text.remove_prefix(1);
  }
  return true;
}

/// Where the fields begin: after the message and a blank.
size_t FieldsBegin(absl::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (NameLength(text.substr(at)) > 0) return at;
    const size_t blank = text.find(' ', at);
    if (blank == absl::string_view::npos) break;
    at = blank + 1;
  }
  return text.size();
}

}  // namespace

std::string JsonLogLine(absl::string_view time, absl::string_view level,
                        absl::string_view text) {
  std::vector<Field> fields;
  const size_t begin = FieldsBegin(text);
  absl::string_view message =
      absl::StripTrailingAsciiWhitespace(text.substr(0, begin));
  if (!ParseFields(text.substr(begin), &fields)) {
    fields.clear();
    message = text;
  }
  std::string line = absl::StrCat(
      "{\"time\":", JsonString(time), ",\"level\":", JsonString(level),
      ",\"message\":", JsonString(message), ",\"fields\":{");
  absl::string_view comma;
  for (const Field& field : fields) {
    absl::StrAppend(&line, std::exchange(comma, ","), JsonString(field.name),
                    ":", JsonString(field.value));
  }
  absl::StrAppend(&line, "}}");
  return line;
}

}  // namespace addons
