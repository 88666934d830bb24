#include "networkfence/helper_marker.h"

#include "absl/strings/str_cat.h"

namespace addons {
namespace {

// Above 2^31 and of no meaning; the lowest twelve bits are mask and helpers.
constexpr uint32_t kMagic = 0xfe4ce000;
constexpr uint32_t kMagicMask = 0xfffff000;
constexpr uint32_t kHelperBits = 2;
constexpr uint32_t kHelperMask = 0x3;

}  // namespace

std::vector<FenceHelper> HelpersOf(const Cidr& range) {
  if (range.IsSingle()) return {{1, AddressKey(range.address()), range}};
  const auto [lower, upper] = range.Halves();
  return {{1, RangeKey(lower), lower}, {2, RangeKey(upper), upper}};
}

BlocklistKey HelperMarker::Key() const {
  const uint32_t nonce =
      kMagic | (static_cast<uint32_t>(range.prefix()) << kHelperBits) | helpers;
  const std::string address = range.address().Text();
  return {false, range.address().family == IpFamily::kIPv6
                     ? absl::StrCat("[", address, "]:0/", nonce)
                     : absl::StrCat(address, ":0/", nonce)};
}

std::optional<HelperMarker> HelperMarker::Of(const BlocklistEntry& entry) {
  if (entry.kind != BlocklistEntry::Kind::kClient ||
      (entry.nonce & kMagicMask) != kMagic) {
    return std::nullopt;
  }
  const auto prefix =
      static_cast<int>((entry.nonce & ~kMagicMask) >> kHelperBits);
  if (prefix > AddressBits(entry.address.family)) return std::nullopt;
  HelperMarker marker{Cidr(entry.address, prefix), entry.nonce & kHelperMask};
  // Another port, or an address that is not the first of its range.
  if (marker.Key().argument != entry.key) return std::nullopt;
  return marker;
}

std::vector<HelperMarker> FindMarkers(const Blocklist& list) {
  std::vector<HelperMarker> markers;
  for (const BlocklistEntry& entry : list.entries) {
    if (const auto marker = HelperMarker::Of(entry)) {
      markers.push_back(*marker);
    }
  }
  return markers;
}

uint32_t MarkedHelpers(const Blocklist& list, const Cidr& range) {
  uint32_t helpers = 0;
  for (const HelperMarker& marker : FindMarkers(list)) {
    if (marker.range == range) helpers |= marker.helpers;
  }
  return helpers;
}

}  // namespace addons
