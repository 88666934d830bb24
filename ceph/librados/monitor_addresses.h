#ifndef ADDONS_CEPH_LIBRADOS_MONITOR_ADDRESSES_H_
#define ADDONS_CEPH_LIBRADOS_MONITOR_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "ceph/librados/host_resolver.h"

namespace addons {

/// Turns the monitors of config.json into a value for Ceph's option mon_host
/// that has addresses only. An entry is whatever Ceph takes there: "10.0.0.1",
/// "10.0.0.1:6789", "v2:10.0.0.1:3300", "[v2:...,v1:...]", "[fd00::1]:3300", a
/// host name in place of an IPv4 address, or several of these with commas.
///
/// Names are looked up here and not by librados, for two reasons: its look-up
/// has no bound, and one name that is not found makes it refuse the whole list.
/// Here names that are not found by `until` are left out as long as something
/// is left. UNAVAILABLE: nothing is left, or an entry is neither an address nor
/// a name.
absl::StatusOr<std::string> MonHost(HostResolver& resolver,
                                    const std::vector<std::string>& monitors,
                                    SteadyTime until);

}  // namespace addons

#endif  // ADDONS_CEPH_LIBRADOS_MONITOR_ADDRESSES_H_
