#include "points/object_sum.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace addons {
namespace {

constexpr std::array<char, kBlockBytes> kZeros{};
constexpr char kAllZeros = '\xff';

bool IsZero(absl::string_view bytes) {
  return std::memcmp(bytes.data(), kZeros.data(), bytes.size()) == 0;
}

/// The bits of the block that begins `bytes`; what is missing is zeros.
unsigned char ZerosOfBlock(absl::string_view bytes) {
  if (bytes.size() <= kBlockBytes && IsZero(bytes)) return 0xff;
  unsigned bits = 0;
  for (size_t sector = 0; sector < 8; ++sector) {
    const size_t at = sector * kSectorBytes;
    if (at >= bytes.size() || IsZero(bytes.substr(at, kSectorBytes))) {
      bits |= 1U << sector;
    }
  }
  return static_cast<unsigned char>(bits);
}

}  // namespace

uint64_t DigestObject(absl::string_view bytes, uint64_t length) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const size_t present = std::min<uint64_t>(bytes.size(), length);
  XXH3_64bits_update(state.get(), bytes.data(), present);
  for (uint64_t left = length - present; left > 0;) {
    const size_t piece = std::min<uint64_t>(left, kZeros.size());
    XXH3_64bits_update(state.get(), kZeros.data(), piece);
    left -= piece;
  }
  return XXH3_64bits_digest(state.get());
}

uint64_t DigestTogether(const uint64_t* digests, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<char>(digests[i] >> shift & 0xff));
    }
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

ObjectSum SumObject(absl::string_view bytes, uint64_t length) {
  bytes = bytes.substr(0, length);
  ObjectSum sum;
  bool data = false;
  sum.zeros.reserve((length + kBlockBytes - 1) / kBlockBytes);
  for (uint64_t at = 0; at < length; at += kBlockBytes) {
    const absl::string_view block =
        at < bytes.size() ? bytes.substr(at, kBlockBytes) : absl::string_view();
    const auto zeros = static_cast<char>(ZerosOfBlock(block));
    data = data || zeros != kAllZeros;
    sum.zeros.push_back(zeros);
  }
  if (!data) {
    sum.zeros.clear();
    return sum;
  }
  sum.digest = DigestObject(bytes, length);
  return sum;
}

std::string WholeBlocks(const std::string& zeros) {
  std::string whole = zeros;
  for (char& block : whole) {
    if (block != kAllZeros) block = 0;
  }
  return whole;
}

uint64_t ClearZeros(const std::string& zeros, uint64_t length,
                    std::string* bytes) {
  if (bytes->size() > length) bytes->resize(length);
  uint64_t cleared = 0;
  for (size_t at = 0; at < bytes->size(); at += kSectorBytes) {
    const size_t block = at / kBlockBytes;
    const auto bits = static_cast<unsigned char>(
        block < zeros.size() ? zeros[block] : kAllZeros);
    if ((bits >> (at % kBlockBytes / kSectorBytes) & 1U) == 0) continue;
    const size_t count = std::min(kSectorBytes, bytes->size() - at);
    if (IsZero(absl::string_view(*bytes).substr(at, count))) continue;
    std::memset(bytes->data() + at, 0, count);
    cleared += count;
  }
  return cleared;
}

}  // namespace addons
