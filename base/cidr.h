#ifndef ADDONS_BASE_CIDR_H_
#define ADDONS_BASE_CIDR_H_

#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

enum class IpFamily { kIPv4, kIPv6 };

/// 32 or 128.
int AddressBits(IpFamily family);

/// An IPv4 or IPv6 address without port, scope and brackets.
struct IpAddress {
  IpFamily family = IpFamily::kIPv4;
  absl::uint128 value = 0;

  /// nullopt: not exactly one address. Accepts what inet_pton accepts.
  static std::optional<IpAddress> Parse(absl::string_view text);
  /// The shortest usual spelling: "10.0.0.1", "2001:db8::1".
  std::string Text() const;

  friend auto operator<=>(const IpAddress& a, const IpAddress& b) {
    if (a.family != b.family) return a.family <=> b.family;
    if (a.value != b.value) {
      return a.value < b.value ? std::strong_ordering::less
                               : std::strong_ordering::greater;
    }
    return std::strong_ordering::equal;
  }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// A range of addresses; its host bits are zero. Ordered by family, address,
/// then size, the widest first.
class Cidr {
 public:
  /// "10.0.0.0/24", "fd00::/64" or a plain address, which is a range of one.
  /// Host bits are cleared; IPv4-mapped IPv6 becomes IPv4. INVALID_ARGUMENT
  /// shows the text and says what is wrong with it; also for the old
  /// IPv4-compatible form "::10.0.0.1", which Ceph cannot read.
  static absl::StatusOr<Cidr> Parse(absl::string_view text);

  /// The range of `prefix` bits, at most AddressBits(), that holds `address`.
  Cidr(const IpAddress& address, int prefix);

  const IpAddress& address() const { return address_; }
  int prefix() const { return prefix_; }
  bool IsSingle() const { return prefix_ == AddressBits(address_.family); }
  bool Contains(const IpAddress& address) const;
  bool Contains(const Cidr& other) const;
  /// Not of a single address.
  std::pair<Cidr, Cidr> Halves() const;
  /// The same range without IPv4-mapped IPv6.
  Cidr Unmapped() const;
  /// "10.0.0.0/24"; always with a mask.
  std::string Text() const;

  friend auto operator<=>(const Cidr&, const Cidr&) = default;  // NOLINT
  friend bool operator==(const Cidr&, const Cidr&) = default;

 private:
  IpAddress address_;
  int prefix_;
};

/// Sorted and without duplicates.
std::vector<Cidr> SortedUnique(std::vector<Cidr> ranges);
/// SortedUnique(), and without ranges that lie within another one.
std::vector<Cidr> Merged(std::vector<Cidr> ranges);
/// "10.0.0.0/24, 10.1.0.0/16".
std::string JoinRanges(const std::vector<Cidr>& ranges);

}  // namespace addons

#endif  // ADDONS_BASE_CIDR_H_
