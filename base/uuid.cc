#include "base/uuid.h"

#include <cstdint>
#include <random>

#include "absl/strings/str_format.h"

namespace addons {

std::string NewUuid() {
  std::random_device random;
  const uint32_t a = random();
  const uint32_t b = random();
  const uint32_t c = random();
  const uint32_t d = random();
  // Version 4, variant 1.
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%04x%08x", a, b >> 16U,
                         b & 0xfffU, 0x8000U | (c >> 16U & 0x3fffU),
                         c & 0xffffU, d);
}

}  // namespace addons
