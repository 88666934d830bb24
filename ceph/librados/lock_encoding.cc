#include "ceph/librados/lock_encoding.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace addons {
namespace {

constexpr char kVersion = 1;
constexpr char kOldestVersion = 1;  // that may read it
constexpr char kExclusive = 1;

std::string LittleEndian(uint32_t number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<char>((number >> shift) & 0xFFU));
  }
  return bytes;
}

std::string Text(absl::string_view text) {
  return absl::StrCat(LittleEndian(static_cast<uint32_t>(text.size())), text);
}

}  // namespace

std::string EncodeAssertLocked(const ObjectLock& lock) {
  const std::string fields =
      absl::StrCat(Text(lock.name), std::string(1, kExclusive),
                   Text(lock.cookie), Text(/*tag=*/""));
  return absl::StrCat(std::string{kVersion, kOldestVersion}, Text(fields));
}

}  // namespace addons
