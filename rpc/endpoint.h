#ifndef ADDONS_RPC_ENDPOINT_H_
#define ADDONS_RPC_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace addons {

/// Where a daemon listens when nobody says otherwise. Not in /tmp: whoever came
/// first could be the one that callers, with their secrets, talk to.
inline constexpr char kDefaultEndpoint[] =
    "unix:///run/rbd-addons/csi-addons.sock";
/// The same of the administrators' services. It does not depend on where the
/// other one is: that may be a folder which others see, too.
inline constexpr char kDefaultAdminEndpoint[] =
    "unix:///run/rbd-addons/admin.sock";

/// The path of the socket in `endpoint`, which is unix:///path or an absolute
/// path. INVALID_ARGUMENT saying what is wrong: another scheme, a host part
/// (unix://csi/x means host "csi" and is a common slip), a path that is
/// relative or longer than the 107 bytes that the kernel takes, or one with ?,
/// #, % or control characters, which gRPC clients read differently.
absl::StatusOr<std::string> SocketPath(absl::string_view endpoint);

}  // namespace addons

#endif  // ADDONS_RPC_ENDPOINT_H_
