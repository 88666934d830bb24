#ifndef ADDONS_CEPH_ENCODING_H_
#define ADDONS_CEPH_ENCODING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {

// Numbers and texts as Ceph encodes them.

/// The lowest `bytes` bytes, the lowest first.
inline std::string EncodeNumber(uint64_t number, size_t bytes) {
  std::string encoded;
  for (size_t byte = 0; byte < bytes; ++byte) {
    encoded.push_back(static_cast<char>(number >> (8 * byte) & 0xff));
  }
  return encoded;
}

/// The number that these bytes are, at most eight of them, the lowest first.
inline uint64_t DecodeNumber(absl::string_view bytes) {
  uint64_t number = 0;
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    number |= uint64_t{static_cast<unsigned char>(bytes[byte])} << (8 * byte);
  }
  return number;
}

/// A text has its length before it.
inline std::string EncodeText(absl::string_view text) {
  return absl::StrCat(EncodeNumber(text.size(), sizeof(uint32_t)), text);
}

/// The text that these bytes are, which is not empty; nullopt: something else.
inline std::optional<std::string> DecodeText(absl::string_view bytes) {
  constexpr size_t kLength = sizeof(uint32_t);
  if (bytes.size() <= kLength ||
      DecodeNumber(bytes.substr(0, kLength)) != bytes.size() - kLength) {
    return std::nullopt;
  }
  return std::string(bytes.substr(kLength));
}

}  // namespace addons

#endif  // ADDONS_CEPH_ENCODING_H_
