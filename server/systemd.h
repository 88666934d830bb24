#ifndef ADDONS_SERVER_SYSTEMD_H_
#define ADDONS_SERVER_SYSTEMD_H_

#include <string>

#include "absl/status/status.h"

namespace addons {

/// Tells systemd about the service's state ("READY=1", "STOPPING=1"): one
/// datagram to `socket`, the value of NOTIFY_SOCKET. Does nothing when that is
/// empty. An error is no reason to stop.
absl::Status NotifySystemd(const std::string& socket, const std::string& state);

}  // namespace addons

#endif  // ADDONS_SERVER_SYSTEMD_H_
