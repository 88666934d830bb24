#ifndef ADDONS_RPC_TEXT_H_
#define ADDONS_RPC_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace addons {

/// The character that `text` starts with.
struct Rune {
  char32_t value = 0;
  size_t size = 1;     // in bytes; 1 when not valid
  bool valid = false;  // well-formed UTF-8
};

/// Decodes the first character of `text`, which must not be empty.
Rune FirstRune(absl::string_view text);

/// A control character, tab and the ends of lines included.
bool IsControl(char32_t rune);

/// As CleanLine()'s `max_bytes`, for texts in answers; those of groups have up
/// to 3500 bytes.
inline constexpr size_t kMaxTextBytes = 4096;

/// Puts '?' in place of what is no UTF-8; false: all of it is.
bool MakeValid(std::string* text);

/// `text` as one line of valid UTF-8 for people: control characters become
/// spaces, broken UTF-8 becomes '?', and what exceeds `max_bytes` is cut with
/// "...".
std::string CleanLine(absl::string_view text, size_t max_bytes);

}  // namespace addons

#endif  // ADDONS_RPC_TEXT_H_
