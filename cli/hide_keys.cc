#include "cli/hide_keys.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace addons {
namespace {

constexpr absl::string_view kHiddenKey = "***";
constexpr size_t kShortestKnown = 8;
/// Type, time and length, before the key itself, as Ceph encodes it.
constexpr size_t kCephKeyHeader = 12;

bool IsBase64(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
         c == '/' || c == '=';
}

/// As it is, or once more in base64, as in a Secret.
bool IsKey(absl::string_view word) {
  std::string inner;
  return LooksLikeCephKey(word) ||
         (word.size() >= 52 && word.size() <= 140 &&
          absl::Base64Unescape(word, &inner) && LooksLikeCephKey(inner));
}

}  // namespace

bool LooksLikeCephKey(absl::string_view word) {
  std::string key;
  if (word.size() < 40 || word.size() > 100 ||
      !absl::Base64Unescape(word, &key) || key.size() <= kCephKeyHeader) {
    return false;
  }
  const auto number = [&key](size_t at) {
    return size_t{static_cast<unsigned char>(key[at])} +
           (size_t{static_cast<unsigned char>(key[at + 1])} << 8U);
  };
  // The types of a key are small, and its length is what follows.
  return number(0) >= 1 && number(0) <= 8 &&
         number(kCephKeyHeader - 2) == key.size() - kCephKeyHeader;
}

KeyHider::KeyHider(const std::vector<std::string>& known) {
  for (const std::string& key : known) {
    if (key.size() < kShortestKnown) continue;
    known_.push_back(key);
    known_.push_back(absl::Base64Escape(key));
  }
}

std::string KeyHider::Hide(std::string text) const {
  for (const std::string& key : known_) {
    absl::StrReplaceAll({{key, kHiddenKey}}, &text);
  }
  std::string shown;
  shown.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && IsBase64(text[end])) ++end;
    absl::string_view word = absl::string_view(text).substr(at, end - at);
    // "key=AQ...", "x=key=AQ...".
    for (size_t equals = word.find('=');
         equals != absl::string_view::npos && equals + 2 < word.size();
         equals = word.find('=')) {
      absl::StrAppend(&shown, word.substr(0, equals + 1));
      word.remove_prefix(equals + 1);
    }
    // The end of "\n" in JSON is no part of the word.
    if (at > 0 && text[at - 1] == '\\' && !word.empty() && !IsKey(word) &&
        IsKey(word.substr(1))) {
      shown.push_back(word.front());
      word.remove_prefix(1);
    }
    absl::StrAppend(&shown, IsKey(word) ? kHiddenKey : word);
    if (end < text.size()) shown.push_back(text[end]);
    at = end + 1;
  }
  return shown;
}

}  // namespace addons
