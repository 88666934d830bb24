#include "server/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace addons {

absl::Status NotifySystemd(const std::string& socket,
                           const std::string& state) {
  if (socket.empty()) return absl::OkStatus();
  sockaddr_un address{};
  const bool well_formed = (socket.front() == '/' || socket.front() == '@') &&
                           socket.size() < sizeof(address.sun_path);
  if (!well_formed) {
    return absl::InvalidArgumentError(
        absl::StrCat("NOTIFY_SOCKET '", socket, "' is not a socket's name"));
  }
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, socket.size());
  if (socket.front() == '@') address.sun_path[0] = '\0';  // abstract namespace
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  if (!fd.valid() ||
      sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return absl::UnavailableError(absl::StrCat("Failed to notify systemd at '",
                                               socket, "': errno ", errno));
  }
  return absl::OkStatus();
}

}  // namespace addons
