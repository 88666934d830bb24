#include "server/unix_listener.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace addons {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptRetryMs = 100;

std::string Reason(int error) {
  return absl::StrCat("(", error, ") ", std::generic_category().message(error));
}

absl::Status SystemError(absl::string_view action, absl::string_view path,
                         int error) {
  return absl::InternalError(
      absl::StrCat("Failed to ", action, " '", path, "': ", Reason(error)));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

const sockaddr* AsSockaddr(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  uint32_t number = 0;
  if (absl::SimpleAtoi(name, &number)) return number;
  std::vector<char> buffer(16384);
  group entry{};
  group* found = nullptr;
  const int error =
      getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->gr_gid;
  return absl::InvalidArgumentError(
      absl::StrCat("Failed to find group '", name,
                   "': ", error == 0 ? "there is none" : Reason(error)));
}

// Who holds the lock, as far as the file tells.
std::string HolderOf(int lock_fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(lock_fd, text.data(), text.size(), 0);
  if (size <= 0) return "another process";
  const absl::string_view pid =
      absl::StripAsciiWhitespace({text.data(), static_cast<size_t>(size)});
  return absl::StrCat("process ", Quoted(pid));
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Open(
    const SocketOptions& options) {
  std::unique_ptr<UnixListener> listener(new UnixListener(options));
  listener->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener->wake_.valid()) {
    return SystemError("make an event for", options.path, errno);
  }
  ADDONS_RETURN_IF_ERROR(listener->TakeLock());
  ADDONS_RETURN_IF_ERROR(listener->ClearPath());
  ADDONS_RETURN_IF_ERROR(listener->Bind());
  ADDONS_RETURN_IF_ERROR(listener->SetOwnerAndMode());
  if (listen(listener->socket_.get(), kBacklog) != 0) {
    return SystemError("listen on socket", options.path, errno);
  }
  return listener;
}

UnixListener::~UnixListener() { Close(); }

absl::Status UnixListener::TakeLock() {
  const std::string path = absl::StrCat(options_.path, ".lock");
  // A predecessor may remove the file between our open and our lock: then what
  // we locked is not what the next one will open, and we start over.
  for (int attempt = 0; attempt < 10; ++attempt) {
    UniqueFd lock(
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.valid()) return SystemError("open lock file", path, errno);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return SystemError("lock", path, errno);
      return absl::FailedPreconditionError(absl::StrCat(
          "Failed to listen on '", options_.path, "': ", HolderOf(lock.get()),
          " serves there already (it holds '", path, "')"));
    }
    struct stat locked {};
    struct stat named {};
    if (fstat(lock.get(), &locked) != 0 || lstat(path.c_str(), &named) != 0 ||
        !SameFile(locked, named)) {
      continue;
    }
    const std::string pid = absl::StrCat(getpid(), "\n");
    if (ftruncate(lock.get(), 0) != 0 ||
        pwrite(lock.get(), pid.data(), pid.size(), 0) < 0) {
      return SystemError("write lock file", path, errno);
    }
    lock_ = std::move(lock);
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("Failed to lock '", path, "': it keeps being replaced"));
}

absl::Status UnixListener::ClearPath() const {
  const std::string& path = options_.path;
  struct stat existing {};
  if (lstat(path.c_str(), &existing) != 0) {
    return errno == ENOENT ? absl::OkStatus()
                           : SystemError("look at", path, errno);
  }
  if (!S_ISSOCK(existing.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "Failed to listen on '", path,
        "': there is something that is not a socket; remove it first"));
  }
  const UniqueFd probe(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return SystemError("make a socket for", path, errno);
  const sockaddr_un address = AddressOf(path);
  const int connected =
      connect(probe.get(), AsSockaddr(address), sizeof(address));
  // EAGAIN: somebody listens whose queue is full.
  if (connected == 0 || errno == EAGAIN) {
    return absl::FailedPreconditionError(
        absl::StrCat("Failed to listen on '", path,
                     "': another program serves there already"));
  }
  if (errno != ECONNREFUSED && errno != ENOENT) {
    return SystemError("find out whether anybody serves at", path, errno);
  }
  Log().info("replacing a dead socket path={}", Quoted(path));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return SystemError("remove dead socket", path, errno);
  }
  return absl::OkStatus();
}

absl::Status UnixListener::Bind() {
  const std::string& path = options_.path;
  socket_ =
      UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.valid()) return SystemError("make a socket for", path, errno);
  // Linux makes the file with the mode that the socket has: nobody gets in
  // early, whatever the umask is.
  if (fchmod(socket_.get(), 0600) != 0) {
    return SystemError("restrict socket", path, errno);
  }
  const sockaddr_un address = AddressOf(path);
  if (bind(socket_.get(), AsSockaddr(address), sizeof(address)) != 0) {
    return SystemError("create socket", path, errno);
  }
  struct stat created {};
  if (lstat(path.c_str(), &created) != 0) {
    return SystemError("look at socket", path, errno);
  }
  bound_ = true;
  device_ = created.st_dev;
  inode_ = created.st_ino;
  return absl::OkStatus();
}

absl::Status UnixListener::SetOwnerAndMode() const {
  const std::string& path = options_.path;
  if (!options_.group.empty()) {
    ADDONS_ASSIGN_OR_RETURN(const gid_t gid, FindGroup(options_.group));
    if (lchown(path.c_str(), static_cast<uid_t>(-1), gid) != 0) {
      return SystemError(
          absl::StrCat("give group '", options_.group, "' to socket"), path,
          errno);
    }
  }
  // The group comes first: before it is right, nobody but the owner may
  // connect.
  if (chmod(path.c_str(), options_.mode) != 0) {
    return SystemError("set the mode of socket", path, errno);
  }
  return absl::OkStatus();
}

void UnixListener::Start(Acceptor acceptor) {
  thread_ = std::jthread(
      [this, acceptor = std::move(acceptor)] { AcceptLoop(acceptor); });
}

void UnixListener::AcceptLoop(const Acceptor& acceptor) {
  std::array<pollfd, 2> events = {pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{socket_.get(), POLLIN, 0}};
  while (true) {
    if (poll(events.data(), events.size(), -1) < 0 && errno != EINTR) {
      Log().error("stopped accepting connections cause={}",
                  Quoted(Reason(errno)));
      return;
    }
    if (events[0].revents != 0) return;
    UniqueFd connection(
        accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid()) {
      acceptor(std::move(connection));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
               errno == ENOMEM) {
      // The connection stays in the queue, so poll() would return at once.
      Log().warn("failed to accept a connection cause={}",
                 Quoted(Reason(errno)));
      poll(events.data(), 1, kAcceptRetryMs);
    }
  }
}

void UnixListener::StopAccepting() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    // Cannot fail: the counter is far from full.
    [[maybe_unused]] const ssize_t written =
        write(wake_.get(), &one, sizeof(one));
    thread_.join();
  }
  socket_.Reset();
}

bool UnixListener::StillOurs() const {
  struct stat now {};
  return lstat(options_.path.c_str(), &now) == 0 && now.st_dev == device_ &&
         now.st_ino == inode_;
}

void UnixListener::Close() {
  StopAccepting();
  if (std::exchange(bound_, false) && StillOurs())
    unlink(options_.path.c_str());
  if (lock_.valid()) {
    unlink(absl::StrCat(options_.path, ".lock").c_str());
    lock_.Reset();
  }
}

}  // namespace addons
