#include "base/cidr.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace addons {
namespace {

constexpr int kMappedPrefix = 96;  // ::ffff:0:0/96

int NetworkFamily(IpFamily family) {
  return family == IpFamily::kIPv4 ? AF_INET : AF_INET6;
}

absl::uint128 Mask(IpFamily family, int prefix) {
  const int bits = AddressBits(family);
  const absl::uint128 all =
      bits == 128 ? absl::Uint128Max() : (absl::uint128(1) << bits) - 1;
  if (prefix == 0) return 0;
  return all & (all << (bits - prefix));
}

bool IsMapped(const IpAddress& address) {
  return address.family == IpFamily::kIPv6 && (address.value >> 32) == 0xffff;
}

/// "::10.0.0.1" and the like; not "::1".
bool IsCompatible(const IpAddress& address) {
  return address.family == IpFamily::kIPv6 && (address.value >> 32) == 0 &&
         (address.value >> 16) != 0;
}

absl::Status Wrong(absl::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text.substr(0, 64)), "' ", reason));
}

/// A mask is digits only; nullopt otherwise.
std::optional<int> ParsePrefix(absl::string_view text) {
  int prefix = 0;
  const bool digits =
      !text.empty() && text.size() <= 3 &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!digits || !absl::SimpleAtoi(text, &prefix)) return std::nullopt;
  return prefix;
}

}  // namespace

int AddressBits(IpFamily family) {
  return family == IpFamily::kIPv4 ? 32 : 128;
}

std::optional<IpAddress> IpAddress::Parse(absl::string_view text) {
  // A zero byte would end the text for inet_pton.
  if (absl::StrContains(text, '\0')) return std::nullopt;
  const std::string copy(text);
  for (const IpFamily family : {IpFamily::kIPv4, IpFamily::kIPv6}) {
    std::array<uint8_t, 16> bytes{};
    if (inet_pton(NetworkFamily(family), copy.c_str(), bytes.data()) != 1) {
      continue;
    }
    IpAddress address{family, 0};
    for (size_t i = 0; i < static_cast<size_t>(AddressBits(family)) / 8; ++i) {
      address.value = (address.value << 8) | bytes.at(i);
    }
    return address;
  }
  return std::nullopt;
}

std::string IpAddress::Text() const {
  std::array<uint8_t, 16> bytes{};
  absl::uint128 rest = value;
  for (size_t i = static_cast<size_t>(AddressBits(family)) / 8; i-- > 0;) {
    bytes.at(i) = static_cast<uint8_t>(absl::Uint128Low64(rest) & 0xff);
    rest >>= 8;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(NetworkFamily(family), bytes.data(), text.data(), text.size());
  return text.data();
}

Cidr::Cidr(const IpAddress& address, int prefix)
    : address_(address), prefix_(prefix) {
  address_.value &= Mask(address.family, prefix);
}

absl::StatusOr<Cidr> Cidr::Parse(absl::string_view text) {
  const size_t slash = text.find('/');
  const auto address = IpAddress::Parse(text.substr(0, slash));
  if (!address.has_value()) {
    return Wrong(text,
                 "is neither an address nor a range such as 10.0.0.0/24 or "
                 "fd00::/64");
  }
  const int bits = AddressBits(address->family);
  int prefix = bits;
  if (slash != absl::string_view::npos) {
    const auto parsed = ParsePrefix(text.substr(slash + 1));
    if (!parsed.has_value() || *parsed > bits) {
      return Wrong(text, absl::StrCat("has a mask that is not a number from 0 "
                                      "to ",
                                      bits));
    }
    prefix = *parsed;
  }
  if (IsMapped(*address) && prefix < kMappedPrefix) {
    return Wrong(text,
                 "covers IPv4-mapped and other IPv6 addresses; write IPv4 "
                 "ranges as IPv4");
  }
  Cidr range = Cidr(*address, prefix).Unmapped();
  if (IsCompatible(range.address())) {
    return Wrong(text,
                 "is an IPv4 address within an IPv6 one, which Ceph cannot "
                 "read; write IPv4 ranges as IPv4");
  }
  return range;
}

bool Cidr::Contains(const IpAddress& address) const {
  return address.family == address_.family &&
         (address.value & Mask(address.family, prefix_)) == address_.value;
}

bool Cidr::Contains(const Cidr& other) const {
  return other.prefix_ >= prefix_ && Contains(other.address_);
}

std::pair<Cidr, Cidr> Cidr::Halves() const {
  IpAddress upper = address_;
  upper.value |= absl::uint128(1)
                 << (AddressBits(address_.family) - prefix_ - 1);
  return {Cidr(address_, prefix_ + 1), Cidr(upper, prefix_ + 1)};
}

Cidr Cidr::Unmapped() const {
  if (!IsMapped(address_) || prefix_ < kMappedPrefix) return *this;
  return Cidr({IpFamily::kIPv4, address_.value & 0xffffffff},
              prefix_ - kMappedPrefix);
}

std::string Cidr::Text() const {
  return absl::StrCat(address_.Text(), "/", prefix_);
}

std::vector<Cidr> SortedUnique(std::vector<Cidr> ranges) {
  std::sort(ranges.begin(), ranges.end());
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
  return ranges;
}

std::vector<Cidr> Merged(std::vector<Cidr> ranges) {
  std::vector<Cidr> merged;
  // A range comes right before everything that lies within it.
  for (const Cidr& range : SortedUnique(std::move(ranges))) {
    if (merged.empty() || !merged.back().Contains(range)) {
      merged.push_back(range);
    }
  }
  return merged;
}

std::string JoinRanges(const std::vector<Cidr>& ranges) {
  return absl::StrJoin(ranges, ", ", [](std::string* out, const Cidr& range) {
    out->append(range.Text());
  });
}

}  // namespace addons
