#ifndef ADDONS_SERVER_SOCKET_SERVER_H_
#define ADDONS_SERVER_SOCKET_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/start_thread.h"
#include "rpc/prompt_server.h"
#include "rpc/unary_call.h"
#include "server/unix_listener.h"

namespace addons {

/// What a socket serves, besides health and reflection.
struct SocketServerParts {
  std::vector<grpc::Service*> services;  // not owned
  std::vector<PromptMethod> prompt;      // of these services
  /// Answers calls of every other method.
  std::unique_ptr<grpc::CallbackGenericService> unserved;
};

/// One socket and the gRPC server behind it. Several of them share nothing:
/// neither rights nor bounds. Not thread-safe.
class SocketServer {
 public:
  /// Listens; who connects waits until Start(). Errors as UnixListener::Open().
  /// `rpc` is not owned.
  static absl::StatusOr<std::unique_ptr<SocketServer>> Open(
      const SocketOptions& socket, Rpc& rpc);
  /// Close(), and waits for the calls.
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  /// Serves from now on. Call once. RESOURCE_EXHAUSTED: no thread can be
  /// started. INTERNAL: gRPC refuses.
  absl::Status Start(SocketServerParts parts, const ThreadStarter& start);

  /// Health turns NOT_SERVING, nobody can connect, and the path is free for the
  /// next daemon. Calls under way may go on until `until`, and are cancelled
  /// then. Does not wait for them. Idempotent.
  void Close(std::chrono::system_clock::time_point until);
  /// After Close(): waits until all calls have ended. False: not by `until`.
  bool AwaitEnd(std::chrono::steady_clock::time_point until);

  ConnectionCounts counts() const { return listener_->counts(); }

 private:
  explicit SocketServer(Rpc& rpc) : rpc_(rpc) {}

  absl::Status StartServer(SocketServerParts& parts,
                           const ThreadStarter& start);
  absl::Status StartStopper(const ThreadStarter& start);
  void StopServer();

  Rpc& rpc_;
  std::unique_ptr<grpc::CallbackGenericService> unserved_;
  std::unique_ptr<UnixListener> listener_;
  std::unique_ptr<PromptServer> server_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<std::chrono::system_clock::time_point> stop_by_
      ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::jthread> stopper_;
};

}  // namespace addons

#endif  // ADDONS_SERVER_SOCKET_SERVER_H_
