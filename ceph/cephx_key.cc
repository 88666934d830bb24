#include "ceph/cephx_key.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "base/secret.h"
#include "ceph/encoding.h"

namespace addons {
namespace {

// Many times what any cipher takes.
constexpr size_t kMaxText = 1024;
// A decoded key: type, time of creation (seconds, nanoseconds), length of the
// secret, all little-endian, and the secret.
constexpr size_t kTypeAt = 0;
constexpr size_t kLengthAt = 10;
constexpr size_t kHeader = 12;

absl::Status Refused(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

/// Wipes its text when it goes out of scope.
class WipedString {
 public:
  WipedString() = default;
  ~WipedString() { WipeString(text_); }
  WipedString(const WipedString&) = delete;
  WipedString& operator=(const WipedString&) = delete;
  std::string& text() { return text_; }

 private:
  std::string text_;
};

/// Two bytes of a key's header.
unsigned HeaderField(absl::string_view bytes, size_t at) {
  return static_cast<unsigned>(DecodeNumber(bytes.substr(at, 2)));
}

/// absl forgives white space and missing padding, librados does not.
bool IsBase64(absl::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return false;
  absl::string_view digits = text;
  for (int padding = 0; padding < 2; ++padding) {
    if (absl::EndsWith(digits, "=")) digits.remove_suffix(1);
  }
  return std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
           c == '/';
  });
}

/// What librados's decoder wants at least; of other types it knows better.
size_t ShortestSecret(unsigned type) {
  switch (type) {
    case kCephxAes:
      return 16;
    case kCephxAes256k:
      return 32;
    default:
      return 1;
  }
}

}  // namespace

absl::StatusOr<unsigned> CephxKeyType(absl::string_view text) {
  if (text.size() > kMaxText) return Refused("too long");
  WipedString decoded;
  if (!IsBase64(text) || !absl::Base64Unescape(text, &decoded.text())) {
    return Refused("not base64");
  }
  const absl::string_view bytes = decoded.text();
  if (bytes.size() <= kHeader) return Refused("too short");
  const size_t secret = bytes.size() - kHeader;
  if (HeaderField(bytes, kLengthAt) != secret) {
    return Refused("its length is not the one it announces");
  }
  const unsigned type = HeaderField(bytes, kTypeAt);
  if (type == 0) return Refused("its type is 0, which is no cipher");
  if (secret < ShortestSecret(type)) return Refused("too short");
  return type;
}

}  // namespace addons
