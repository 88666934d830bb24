#include "tests/fuzz/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace addons::testing {
namespace {

bool IsFollower(unsigned char byte) { return byte >= 0x80 && byte <= 0xBF; }

/// How long the character is that `text` starts with; 0: it starts with none.
/// The ranges are those of table 3-7 of the Unicode standard.
size_t CharacterSize(absl::string_view text) {
  const auto at = [text](size_t i) -> unsigned char {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned char lead = at(0);
  const unsigned char second = at(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return IsFollower(second) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return IsFollower(second) && IsFollower(at(2)) && !overlong && !surrogate
               ? 3
               : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && second < 0x90;
    const bool too_large = lead == 0xF4 && second > 0x8F;
    return IsFollower(second) && IsFollower(at(2)) && IsFollower(at(3)) &&
                   !overlong && !too_large
               ? 4
               : 0;
  }
  return 0;
}

bool HasControl(absl::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    // U+0080 to U+009F
    if (byte == 0xC2 && i + 1 < text.size() &&
        static_cast<unsigned char>(text[i + 1]) <= 0x9F) {
      return true;
    }
  }
  return false;
}

}  // namespace

void CheckThat(bool kept, absl::string_view promise, absl::string_view seen) {
  if (kept) return;
  const std::string text = absl::StrCat(
      "\nBROKEN PROMISE: ", promise,
      seen.empty() ? "" : "\n  seen: ", absl::CHexEscape(seen.substr(0, 4096)),
      "\n");
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void CheckLine(absl::string_view text, size_t max_bytes) {
  CheckThat(!text.empty(), "a text for people says something");
  CheckThat(text.size() <= max_bytes,
            absl::StrCat("a text for people has at most ", max_bytes, " bytes"),
            text);
  CheckThat(IsUtf8(text), "a text for people is UTF-8", text);
  CheckThat(!HasControl(text), "a text for people has no control characters",
            text);
}

void CheckError(const absl::Status& error, absl::StatusCode code,
                size_t max_bytes) {
  CheckThat(error.code() == code,
            absl::StrCat("the code is ", absl::StatusCodeToString(code)),
            error.ToString());
  CheckLine(error.message(), max_bytes);
}

}  // namespace addons::testing
