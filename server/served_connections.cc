#include "server/served_connections.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace addons {
namespace {

/// Whoever reads at all never leaves so much; the kernel keeps some 200 KiB.
constexpr int kFullBytes = 32 << 10;

/// 0: it is none any more.
ino_t InodeOf(int descriptor) {
  struct stat found {};
  return fstat(descriptor, &found) == 0 && S_ISSOCK(found.st_mode)
             ? found.st_ino
             : 0;
}

}  // namespace

void ServedConnections::Add(int connection, SteadyTime now) {
  const ino_t inode = InodeOf(connection);
  if (inode != 0) connections_.push_back({connection, inode, 0, now});
}

ServedConnections::State ServedConnections::LookAt(Connection& connection,
                                                   SteadyTime now,
                                                   SteadyDuration patience) {
  // gRPC may close it at any time, and its number may be somebody else's then.
  // A copy stays what it is.
  const UniqueFd copy(fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    return errno == EBADF ? State::kGone : State::kStays;  // or none is left
  }
  if (InodeOf(copy.get()) != connection.inode) return State::kGone;
  int unread = 0;
  // SIOCOUTQ of unix(7), under its other name.
  if (ioctl(copy.get(), TIOCOUTQ, &unread) != 0) return State::kStays;
  if (unread < kFullBytes || unread != connection.unread) {
    connection.unread = unread;
    connection.since = now;
    return State::kStays;
  }
  if (now - connection.since < patience) return State::kStays;
  shutdown(copy.get(), SHUT_RDWR);
  return State::kCut;
}

ServedConnections::Seen ServedConnections::Look(SteadyTime now,
                                                SteadyDuration patience,
                                                size_t most) {
  Seen seen;
  size_t kept = next_;
  for (; next_ < connections_.size() && seen.cut < most; ++next_) {
    Connection& connection = connections_[next_];
    const State state = LookAt(connection, now, patience);
    if (state == State::kCut) ++seen.cut;
    if (state == State::kStays) connections_[kept++] = connection;
  }
  const auto begin = connections_.begin();
  connections_.erase(begin + static_cast<ptrdiff_t>(kept),
                     begin + static_cast<ptrdiff_t>(next_));
  seen.all = kept == connections_.size();
  next_ = seen.all ? 0 : kept;
  return seen;
}

}  // namespace addons
