#ifndef ADDONS_RPC_PROMPT_SERVER_H_
#define ADDONS_RPC_PROMPT_SERVER_H_

#include <google/protobuf/message.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/start_thread.h"
#include "rpc/malformed_requests.h"
#include "rpc/method.h"
#include "rpc/unary_call.h"

namespace addons {

/// A method that is answered at once, however busy the daemon is: Probe, by
/// which others judge whether it lives.
///
/// gRPC runs the callbacks of all calls of a process in turn, on two threads
/// (on half as many as there are processors, with more than four). Whoever asks
/// ten thousand times, or sends maps of megabytes, stands there before
/// everybody who comes later, for seconds. Prompt calls have a queue and a
/// thread of their own.
struct PromptMethod {
  using Writer = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;

  /// Has gRPC bring the next call: Request<Method>() of a generated
  /// WithRawMethod_<Method>.
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, Writer*,
                     grpc::ServerCompletionQueue*, void* tag)>
      request;
  /// AnswerPromptly(), with a handler that does not block.
  std::function<grpc::Status(grpc::ServerContext&, grpc::ByteBuffer& request,
                             grpc::ByteBuffer* response)>
      answer;
};

/// AnswerPromptly() without types.
grpc::Status ServePromptly(
    Rpc& rpc, grpc::ServerContext& context,
    const google::protobuf::Message& request,
    const google::protobuf::Message& response,
    const std::function<absl::Status(const CallContext&)>& handler);

/// A gRPC server, and the thread of its prompt methods.
class PromptServer {
 public:
  /// Starts what `builder` has, with a queue more. INTERNAL: gRPC refuses.
  /// RESOURCE_EXHAUSTED: there is no thread for the prompt methods.
  static absl::StatusOr<std::unique_ptr<PromptServer>> Start(
      grpc::ServerBuilder& builder, std::vector<PromptMethod> methods,
      const ThreadStarter& start);
  /// Shuts the server down, if nobody has: its calls are cancelled then. Waits
  /// for them.
  ~PromptServer();
  PromptServer(const PromptServer&) = delete;
  PromptServer& operator=(const PromptServer&) = delete;

  /// grpc::Server::Shutdown(), with the prompt methods; never that one itself.
  /// Calls that are not done at `until` are cancelled. Blocks. Thread-safe.
  void Shutdown(std::chrono::system_clock::time_point until);

  grpc::Server& server() { return *server_; }

 private:
  struct Call;

  PromptServer(grpc::ServerBuilder& builder, std::vector<PromptMethod> methods);

  void Run();
  /// The next call of `method` may come.
  void Await(const PromptMethod& method);

  const std::vector<PromptMethod> methods_;
  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  // Outlives what the queue gives back: gRPC looks at it there.
  const std::unique_ptr<grpc::Server> server_;
  Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::jthread> thread_;
};

/// Answers one call: what UnaryCall() does, with `handler` for the response.
template <typename Request, typename Response>
grpc::Status AnswerPromptly(
    Rpc& rpc, grpc::ServerContext& context, grpc::ByteBuffer& bytes,
    grpc::ByteBuffer* answer,
    const std::function<absl::Status(Response&)>& handler) {
  Request request;
  if (!grpc::SerializationTraits<Request>::Deserialize(&bytes, &request).ok()) {
    return AnswerMalformed(rpc, MethodOfRequest(request));
  }
  Response response;
  grpc::Status status =
      ServePromptly(rpc, context, request, response,
                    [&](const CallContext&) { return handler(response); });
  bool own = false;
  if (!status.ok()) return status;
  return grpc::SerializationTraits<Response>::Serialize(response, answer, &own);
}

}  // namespace addons

#endif  // ADDONS_RPC_PROMPT_SERVER_H_
