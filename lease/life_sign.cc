#include "lease/life_sign.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/uuid.h"

namespace addons {
namespace {

constexpr absl::string_view kPrefix = "rbd-addons-life/";

/// The name of an abstract socket begins with a zero and has no other end than
/// the size that goes with it.
struct AbstractAddress {
  explicit AbstractAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::string path = absl::StrCat(kPrefix, name);
    const size_t length = std::min(path.size(), sizeof(address.sun_path) - 1);
    path.copy(address.sun_path + 1, length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&address);
  }

  sockaddr_un address{};
  socklen_t size = 0;
};

UniqueFd DatagramSocket() {
  return UniqueFd(
      socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

UniqueFd ShowLifeSign(const std::string& name) {
  UniqueFd sign = DatagramSocket();
  const AbstractAddress address(name);
  // Fails without a socket, too.
  if (bind(sign.get(), address.get(), address.size) != 0) return {};
  // Nobody can fill its queue.
  shutdown(sign.get(), SHUT_RDWR);
  return sign;
}

const std::string& LifeSign() {
  static const std::string name = [] {
    std::string made = NewUuid();
    UniqueFd sign = ShowLifeSign(made);
    if (!sign.valid()) made.clear();
    // The kernel closes it with the process: a worker that was left behind at
    // the end is still this process.
    sign.Release();
    return made;
  }();
  return name;
}

bool LifeSignIsGone(const std::string& name) {
  const UniqueFd asks = DatagramSocket();
  if (name.empty()) return false;
  const AbstractAddress address(name);
  // EBADF without a socket.
  return connect(asks.get(), address.get(), address.size) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace addons
