#include "ceph/librados/cephx_key.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "base/secret.h"

namespace addons {
namespace {

constexpr size_t kMaxText = 256;
constexpr size_t kHeader = 12;
constexpr size_t kLengthOffset = 10;
constexpr unsigned kTypeAes = 1;
constexpr size_t kAesKey = 16;

unsigned LittleEndian16(const std::string& bytes, size_t offset) {
  const auto low = static_cast<unsigned char>(bytes[offset]);
  const auto high = static_cast<unsigned char>(bytes[offset + 1]);
  return low | (static_cast<unsigned>(high) << 8U);
}

bool IsBase64Digit(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' ||
         c == '/' || c == '=';
}

bool HasKeyLayout(const std::string& bytes) {
  if (bytes.size() <= kHeader) return false;
  const unsigned type = LittleEndian16(bytes, 0);
  const size_t length = LittleEndian16(bytes, kLengthOffset);
  if (type == 0 || length != bytes.size() - kHeader) return false;
  return type != kTypeAes || length == kAesKey;
}

}  // namespace

bool HasCephxKeyShape(absl::string_view text) {
  // absl forgives white space and missing padding, librados does not.
  if (text.empty() || text.size() > kMaxText || text.size() % 4 != 0) {
    return false;
  }
  if (!std::all_of(text.begin(), text.end(), IsBase64Digit)) return false;
  std::string bytes;
  const bool shaped = absl::Base64Unescape(text, &bytes) && HasKeyLayout(bytes);
  WipeString(bytes);
  return shaped;
}

}  // namespace addons
