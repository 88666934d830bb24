#include "ceph/ceph_address.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace addons {
namespace {

bool ParseNumber(absl::string_view text, uint32_t* value) {
  // SimpleAtoi would forgive blanks and signs.
  return !text.empty() &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); }) &&
         absl::SimpleAtoi(text, value);
}

}  // namespace

std::optional<CephAddress> CephAddress::Parse(absl::string_view text) {
  for (const absl::string_view type : {"v1:", "v2:", "any:"}) {
    if (absl::ConsumePrefix(&text, type)) break;
  }
  CephAddress address;
  const size_t slash = text.rfind('/');
  if (slash != absl::string_view::npos) {
    if (!ParseNumber(text.substr(slash + 1), &address.nonce)) {
      return std::nullopt;
    }
    text = text.substr(0, slash);
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos ||
      !ParseNumber(text.substr(colon + 1), &address.port)) {
    return std::nullopt;
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets = absl::ConsumePrefix(&host, "[");
  if (brackets && !absl::ConsumeSuffix(&host, "]")) return std::nullopt;
  const auto ip = IpAddress::Parse(host);
  // Without brackets a piece of an IPv6 address would pass for a port.
  if (!ip || brackets != (ip->family == IpFamily::kIPv6)) return std::nullopt;
  address.ip = *ip;
  return address;
}

std::vector<CephAddress> ParseCephAddresses(absl::string_view text) {
  absl::string_view list = text;
  // "[fd00::1]:0/5" begins with a bracket, too, but does not end with one.
  if (absl::ConsumePrefix(&list, "[") && !absl::ConsumeSuffix(&list, "]")) {
    list = text;
  }
  std::vector<CephAddress> addresses;
  for (const absl::string_view one : absl::StrSplit(list, ',')) {
    if (const auto address = CephAddress::Parse(one)) {
      addresses.push_back(*address);
    }
  }
  return addresses;
}

}  // namespace addons
