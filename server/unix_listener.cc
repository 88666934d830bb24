#include "server/unix_listener.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "base/status_macros.h"

namespace addons {
namespace {

// A client that does not wait is refused when so many wait already; the kernel
// has a bound of its own, mostly this.
constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kAcceptRetry(100);
// How often those who are served are looked at. Some of the time that they have
// to read.
constexpr int kLooks = 5;
// Of those who are cut off gRPC ends all calls, and nobody else is read from
// meanwhile: so few at a time.
constexpr size_t kCutAtOnce = 4;
constexpr std::chrono::milliseconds kCutPause(20);
// Handed over in one go, before new ones are accepted.
constexpr size_t kHeardAtOnce = 64;
// How many are let in at most, and of the room that was seen, before the open
// descriptors are counted again: others are opened and closed meanwhile.
constexpr size_t kUncounted = 100;
constexpr size_t kUncountedShare = 4;
// Others hold the lock while they start, which takes no time.
constexpr std::chrono::milliseconds kLockPatience = std::chrono::seconds(5);
constexpr int kLockRetryMs = 20;

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

// Who listens at the other end of a connected socket.
std::string Server(int connected) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool known = getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer,
                                &size) == 0 &&
                     peer.pid > 0;  // 0: in another pid namespace
  return known ? absl::StrCat("process ", peer.pid) : "another program";
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Follows no link that somebody else could have put there: what is behind it
/// would be locked. As the kernel does it in folders for all, links of root and
/// of this user are good: /var/run is one.
UniqueFd OpenFolder(const std::string& folder) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  UniqueFd opened(open(folder.c_str(), kFlags | O_NOFOLLOW));
  if (opened.valid() || (errno != ENOTDIR && errno != ELOOP)) return opened;
  struct stat link {};
  if (lstat(folder.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) {
    errno = ENOTDIR;
    return opened;
  }
  if (link.st_uid != 0 && link.st_uid != geteuid()) {
    errno = ELOOP;
    return opened;
  }
  return UniqueFd(open(folder.c_str(), kFlags));
}

}  // namespace

size_t CountOpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  size_t count = 0;
  // Its own one, "." and ".." are seen, too.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this folder open.
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count > 3 ? count - 3 : 0;
}

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Open(
    const SocketOptions& options) {
  ADDONS_ASSIGN_OR_RETURN(QuietConnections quiet,
                          QuietConnections::Make(options.patience));
  std::unique_ptr<UnixListener> listener(
      new UnixListener(options, std::move(quiet)));
  listener->wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener->wake_.valid()) {
    return SystemError("make an event for", options.path, errno);
  }
  if (options.make_folder) {
    const std::string folder = FolderOf(options.path);
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
      return SystemError("make folder", folder, errno);
    }
  }
  ADDONS_ASSIGN_OR_RETURN(const UniqueFd lock, listener->LockFolder());
  ADDONS_RETURN_IF_ERROR(listener->ClearPath());
  ADDONS_RETURN_IF_ERROR(listener->Bind());
  ADDONS_RETURN_IF_ERROR(listener->SetOwnerAndMode());
  if (listen(listener->socket_.get(), kBacklog) != 0) {
    return SystemError("listen on socket", options.path, errno);
  }
  return listener;
}

UnixListener::~UnixListener() { Close(); }

absl::StatusOr<UniqueFd> UnixListener::LockFolder() const {
  const std::string folder = FolderOf(options_.path);
  UniqueFd lock = OpenFolder(folder);
  if (!lock.valid()) {
    return SystemError(
        absl::StrCat("listen on '", options_.path, "': failed to open folder"),
        folder, errno);
  }
  const SteadyTime until = RealClock().Now() + kLockPatience;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return SystemError("lock folder", folder, errno);
    }
    if (RealClock().Now() >= until) {
      return absl::FailedPreconditionError(
          absl::StrCat("Failed to listen on '", options_.path,
                       "': another program keeps the folder locked"));
    }
    poll(nullptr, 0, kLockRetryMs);
  }
  return lock;
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
    return absl::FailedPreconditionError(absl::StrCat(
        "Failed to listen on '", path,
        "': ", connected == 0 ? Server(probe.get()) : "another program",
        " serves there already"));
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

absl::Status UnixListener::Start(Acceptor acceptor,
                                 const ThreadStarter& start) {
  auto thread = start("socket-accept", [this, acceptor = std::move(acceptor)] {
    AcceptLoop(acceptor);
  });
  if (!thread) {
    return absl::ResourceExhaustedError(
        absl::StrCat("Failed to accept connections on socket '", options_.path,
                     "': no thread can be started; raise the limit of "
                     "processes"));
  }
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void UnixListener::AcceptLoop(const Acceptor& acceptor) {
  std::array<pollfd, 3> events = {pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{quiet_.descriptor(), POLLIN, 0},
                                  pollfd{socket_.get(), POLLIN, 0}};
  while (true) {
    // poll() ignores what is negative.
    events[2].fd = paused_until_.has_value() ? -1 : socket_.get();
    if (poll(events.data(), events.size(), PollTimeout()) < 0 &&
        errno != EINTR) {
      Log().error("stopped accepting connections cause={}",
                  Quoted(Reason(errno)));
      return;
    }
    if (events[0].revents != 0) return;
    if (events[1].revents != 0) HearQuiet(acceptor);
    CloseSilent();
    CutOffWhoDoesNotRead();
    if (paused_until_.has_value() && *paused_until_ <= RealClock().Now()) {
      paused_until_.reset();
    }
    if (events[2].fd >= 0 && events[2].revents != 0) AcceptOne();
  }
}

int UnixListener::PollTimeout() const {
  std::optional<SteadyTime> next = quiet_.next_deadline();
  if (paused_until_.has_value()) {
    next = std::min(*paused_until_, next.value_or(*paused_until_));
  }
  if (served_.size() > 0)
    next = std::min(next_look_, next.value_or(next_look_));
  if (!next.has_value()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*next - RealClock().Now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

void UnixListener::AcceptOne() {
  if (!HasRoom()) {
    delayed_.fetch_add(1, std::memory_order_relaxed);
    if (const auto left_out = errors_.Admit(RealClock().Now())) {
      Log().warn(
          "connections wait, because too many are open; close those that "
          "nobody uses socket={} descriptors={} left_out={}",
          Quoted(options_.path), options_.most_descriptors, *left_out);
    }
    PauseAccepting();
    return;
  }
  UniqueFd connection(
      accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.valid()) {
    accepted_.fetch_add(1, std::memory_order_relaxed);
    if (!quiet_.Add(std::move(connection), RealClock().Now())) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
    }
  } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
             errno == ENOMEM) {
    // The connection stays in the queue, so poll() would return at once.
    delayed_.fetch_add(1, std::memory_order_relaxed);
    if (const auto left_out = errors_.Admit(RealClock().Now())) {
      Log().warn("failed to accept a connection cause={} left_out={}",
                 Quoted(Reason(errno)), *left_out);
    }
    PauseAccepting();
  }
}

void UnixListener::PauseAccepting() {
  paused_until_ = RealClock().Now() + kAcceptRetry;
}

void UnixListener::HearQuiet(const Acceptor& acceptor) {
  QuietConnections::Heard heard = quiet_.Listen(kHeardAtOnce);
  for (UniqueFd& connection : heard.speaking) {
    Hand(std::move(connection), acceptor);
  }
  if (heard.foreign == 0) return;
  foreign_.fetch_add(heard.foreign, std::memory_order_relaxed);
  if (const auto left_out = closings_.Admit(RealClock().Now())) {
    Log().warn(
        "connections closed that do not speak HTTP/2, as gRPC does socket={} "
        "closed={} left_out={}",
        Quoted(options_.path), heard.foreign, *left_out);
  }
}

void UnixListener::CloseSilent() {
  const size_t closed = quiet_.CloseOverdue(RealClock().Now());
  if (closed == 0) return;
  silent_.fetch_add(closed, std::memory_order_relaxed);
  if (const auto left_out = closings_.Admit(RealClock().Now())) {
    Log().warn(
        "connections closed that said nothing after connecting socket={} "
        "closed={} after_ms={} left_out={}",
        Quoted(options_.path), closed, options_.patience.count(), *left_out);
  }
}

void UnixListener::CutOffWhoDoesNotRead() {
  const SteadyTime now = RealClock().Now();
  if (served_.size() == 0 || now < next_look_) return;
  const auto seen = served_.Look(now, options_.read_patience, kCutAtOnce);
  next_look_ = now + (seen.all ? options_.read_patience / kLooks : kCutPause);
  unread_.fetch_add(seen.cut, std::memory_order_relaxed);
  cut_ += seen.cut;
  if (!seen.all || cut_ == 0) return;
  if (const auto left_out = closings_.Admit(now)) {
    Log().warn(
        "connections closed that did not read their answers socket={} "
        "closed={} after_ms={} left_out={}",
        Quoted(options_.path), cut_, options_.read_patience.count(), *left_out);
  }
  cut_ = 0;
}

ConnectionCounts UnixListener::counts() const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {accepted_.load(kRelaxed), silent_.load(kRelaxed),
          foreign_.load(kRelaxed),  dropped_.load(kRelaxed),
          unread_.load(kRelaxed),   delayed_.load(kRelaxed)};
}

bool UnixListener::HasRoom() {
  if (room_ == 0) {
    const size_t open = CountOpenDescriptors();
    if (open >= options_.most_descriptors) return false;
    const size_t room = options_.most_descriptors - open;
    room_ = std::clamp<size_t>(room / kUncountedShare, 1, kUncounted);
  }
  --room_;
  return true;
}

void UnixListener::Hand(UniqueFd connection, const Acceptor& acceptor) {
  try {
    served_.Add(connection.get(), RealClock().Now());
    acceptor(std::move(connection));
  } catch (const std::exception& e) {  // no memory: that client tries again
    dropped_.fetch_add(1, std::memory_order_relaxed);
    if (const auto left_out = errors_.Admit(RealClock().Now())) {
      Log().warn("a connection was dropped type={} left_out={}",
                 typeid(e).name(), *left_out);
    }
  }
}

void UnixListener::Close() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    // Cannot fail: the counter is far from full.
    [[maybe_unused]] const ssize_t written =
        write(wake_.get(), &one, sizeof(one));
    thread_.join();
  }
  // As long as the socket is open nobody else's can have its inode, and no
  // other daemon replaces it.
  if (std::exchange(bound_, false) && StillOurs()) {
    unlink(options_.path.c_str());
  }
  socket_.Reset();
}

bool UnixListener::StillOurs() const {
  struct stat now {};
  return lstat(options_.path.c_str(), &now) == 0 && now.st_dev == device_ &&
         now.st_ino == inode_;
}

}  // namespace addons
