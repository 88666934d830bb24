#ifndef ADDONS_SERVER_UNIX_LISTENER_H_
#define ADDONS_SERVER_UNIX_LISTENER_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "base/start_thread.h"
#include "base/unique_fd.h"
#include "server/quiet_connections.h"
#include "server/served_connections.h"

namespace addons {

struct SocketOptions {
  std::string path = {};     // absolute
  mode_t mode = 0600;        // the socket is never open wider than this
  std::string group = {};    // a name or a number; empty: the process's
  bool make_folder = false;  // when it is missing
  /// With so many descriptors open in the process nobody more is let in: what
  /// comes waits, and Ceph, files and those who are in go on.
  size_t most_descriptors = 12'000;
  /// Who says nothing for so long after connecting is cut off.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  /// Who reads nothing of what it is sent for so long is cut off.
  std::chrono::milliseconds read_patience = std::chrono::seconds(10);
};

/// What became of connections since the start.
struct ConnectionCounts {
  uint64_t accepted = 0;
  uint64_t silent = 0;   // closed: they said nothing in time
  uint64_t foreign = 0;  // closed: they do not speak HTTP/2
  uint64_t dropped = 0;  // closed: no memory or no descriptor for them
  uint64_t unread = 0;   // closed: they did not read their answers
  uint64_t delayed = 0;  // how often the next had to wait: too many are open
};

/// How many descriptors this process has open; 0 where that cannot be seen.
/// Takes some milliseconds with ten thousand. Thread-safe.
size_t CountOpenDescriptors();

/// The daemon's socket. It is made here and not by gRPC, which would silently
/// take over the socket of a living daemon and, on exit, delete whatever is at
/// the path.
///
/// Who listens at the path has it. A socket that is in the way is connected to:
/// if somebody listens, also one that does not answer, it is left alone; if
/// nobody does, it is replaced. Anything else at the path is left alone. To
/// look, to replace and to listen are one step for all daemons that start at
/// the same time: meanwhile they hold a flock(2) on the folder. It leaves no
/// file in a folder that belongs to CSI sockets alone, is gone with its
/// process, and is the same for all containers that see the folder, whatever
/// their network (unlike a socket in the abstract namespace). It is held for
/// that moment only, so that several sockets can share a folder.
///
/// Not thread-safe; the accepted connections arrive on a thread of its own.
class UnixListener {
 public:
  using Acceptor = std::function<void(UniqueFd connection)>;

  /// Binds and listens; connections wait until Start(). Blocks for some seconds
  /// at most, while others start.
  /// FAILED_PRECONDITION: somebody else serves there, or the path is taken by
  /// something that is not a socket. INVALID_ARGUMENT: no such group. INTERNAL:
  /// the operating system refuses; the message names what.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Open(
      const SocketOptions& options);
  /// Close().
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  /// Hands each connection that has begun to speak HTTP/2, non-blocking and
  /// with all that it said, to `acceptor`. Call once.
  /// RESOURCE_EXHAUSTED: no thread can be started.
  absl::Status Start(Acceptor acceptor,
                     const ThreadStarter& start = StartThread);

  /// From here on nobody can connect, and the path is free for the next daemon:
  /// the socket is removed, if it is still ours. Waits for a call of the
  /// acceptor under way. Idempotent.
  void Close();

  const std::string& path() const { return options_.path; }
  /// Thread-safe.
  ConnectionCounts counts() const;

 private:
  UnixListener(SocketOptions options, QuietConnections quiet)
      : options_(std::move(options)), quiet_(std::move(quiet)) {}

  absl::StatusOr<UniqueFd> LockFolder() const;
  absl::Status ClearPath() const;
  absl::Status Bind();
  absl::Status SetOwnerAndMode() const;
  void AcceptLoop(const Acceptor& acceptor);
  int PollTimeout() const;
  void AcceptOne();
  void PauseAccepting();
  void HearQuiet(const Acceptor& acceptor);
  void CloseSilent();
  void CutOffWhoDoesNotRead();
  void Hand(UniqueFd connection, const Acceptor& acceptor);
  /// Whether one more may be let in.
  bool HasRoom();
  bool StillOurs() const;

  const SocketOptions options_;
  UniqueFd socket_;
  UniqueFd wake_;  // readable: stop accepting
  bool bound_ = false;
  dev_t device_ = 0;  // of the socket's file, with inode_
  ino_t inode_ = 0;
  std::atomic<uint64_t> accepted_{0};
  std::atomic<uint64_t> silent_{0};
  std::atomic<uint64_t> foreign_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> unread_{0};
  std::atomic<uint64_t> delayed_{0};
  // Of the thread.
  LogLimit errors_{std::chrono::minutes(1)};
  LogLimit closings_{std::chrono::minutes(1)};
  size_t room_ = 0;  // for so many more, without counting again
  QuietConnections quiet_;
  ServedConnections served_;
  SteadyTime next_look_;                    // at those
  size_t cut_ = 0;                          // of them, and not logged yet
  std::optional<SteadyTime> paused_until_;  // nobody is accepted before
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_UNIX_LISTENER_H_
