#ifndef ADDONS_SERVER_UNIX_LISTENER_H_
#define ADDONS_SERVER_UNIX_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace addons {

struct SocketOptions {
  std::string path = {};   // absolute
  mode_t mode = 0600;      // the socket is never open wider than this
  std::string group = {};  // a name or a number; empty: the process's
};

/// The daemon's socket. It is made here and not by gRPC, which would silently
/// take over the socket of a living daemon and, on exit, delete whatever is at
/// the path.
///
/// Who may have the path is decided by a lock on the file `<path>.lock`; it
/// holds the owner's process id and is removed on a clean exit. A socket that
/// is in the way is connected to: if somebody answers, it is left alone, if
/// not, it is replaced. Anything else at the path is left alone.
///
/// Not thread-safe; the accepted connections arrive on a thread of its own.
class UnixListener {
 public:
  using Acceptor = std::function<void(UniqueFd connection)>;

  /// Takes the lock, binds and listens; connections wait until Start().
  /// FAILED_PRECONDITION: somebody else serves there, or the path is taken by
  /// something that is not a socket. INVALID_ARGUMENT: no such group. INTERNAL:
  /// the operating system refuses; the message names what.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Open(
      const SocketOptions& options);
  /// Close().
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  /// Hands each connection, non-blocking, to `acceptor`. Call once.
  void Start(Acceptor acceptor);

  /// From here on, connecting fails. Waits for a call of the acceptor under
  /// way.
  void StopAccepting();

  /// StopAccepting(), then removes the socket, if it is still ours, and the
  /// lock.
  void Close();

  const std::string& path() const { return options_.path; }

 private:
  explicit UnixListener(SocketOptions options) : options_(std::move(options)) {}

  absl::Status TakeLock();
  absl::Status ClearPath() const;
  absl::Status Bind();
  absl::Status SetOwnerAndMode() const;
  void AcceptLoop(const Acceptor& acceptor);
  bool StillOurs() const;

  const SocketOptions options_;
  UniqueFd lock_;
  UniqueFd socket_;
  UniqueFd wake_;  // readable: stop accepting
  bool bound_ = false;
  dev_t device_ = 0;  // of the socket's file, with inode_
  ino_t inode_ = 0;
  std::jthread thread_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_UNIX_LISTENER_H_
