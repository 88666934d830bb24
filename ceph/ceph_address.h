#ifndef ADDONS_CEPH_CEPH_ADDRESS_H_
#define ADDONS_CEPH_CEPH_ADDRESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/cidr.h"

namespace addons {

/// Where one client or daemon of Ceph is: "10.0.0.1:6800/123".
struct CephAddress {
  IpAddress ip;
  uint32_t port = 0;
  uint32_t nonce = 0;

  /// "10.0.0.1:0/5", "[fd00::1]:0/5", each also with "v1:", "v2:" or "any:"
  /// before it, or without "/nonce". nullopt: anything else.
  static std::optional<CephAddress> Parse(absl::string_view text);
};

/// All addresses of one client, which may be "[v2:10.0.0.1:0/5,v1:...]".
/// What cannot be read is left out.
std::vector<CephAddress> ParseCephAddresses(absl::string_view text);

}  // namespace addons

#endif  // ADDONS_CEPH_CEPH_ADDRESS_H_
