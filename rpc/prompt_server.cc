#include "rpc/prompt_server.h"

#include <chrono>
#include <stop_token>
#include <utility>

#include "rpc/status.h"

namespace addons {

/// From the request for it to the end of its answer. Its address is the tag
/// under which gRPC gives it back, and until then it is gRPC's.
struct PromptServer::Call {
  explicit Call(const PromptMethod& its_method) : method(its_method) {}

  const PromptMethod& method;
  grpc::ServerContext context;
  grpc::ByteBuffer request;
  PromptMethod::Writer writer{&context};
  bool answered = false;
};

absl::StatusOr<std::unique_ptr<PromptServer>> PromptServer::Start(
    grpc::ServerBuilder& builder, std::vector<PromptMethod> methods,
    const ThreadStarter& start) {
  std::unique_ptr<PromptServer> started(
      new PromptServer(builder, std::move(methods)));
  if (started->server_ == nullptr) {
    return absl::InternalError("Failed to start the gRPC server");
  }
  started->thread_ =
      start("prompt-calls", [server = started.get()] { server->Run(); });
  if (!started->thread_.has_value()) {
    return absl::ResourceExhaustedError(
        "Failed to start a thread that answers Probe: raise the limit of "
        "processes");
  }
  return started;
}

PromptServer::PromptServer(grpc::ServerBuilder& builder,
                           std::vector<PromptMethod> methods)
    : methods_(std::move(methods)),
      queue_(builder.AddCompletionQueue()),
      server_(builder.BuildAndStart()) {}

void PromptServer::Shutdown(std::chrono::system_clock::time_point until) {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  server_->Shutdown(until);
}

PromptServer::~PromptServer() {
  if (server_ != nullptr) Shutdown(std::chrono::system_clock::now());
  queue_->Shutdown();
  thread_.reset();
  // Nobody has looked, where the thread was never started.
  void* tag = nullptr;
  for (bool ok = false; queue_->Next(&tag, &ok);)
    delete static_cast<Call*>(tag);
}

void PromptServer::Run() {
  for (const PromptMethod& method : methods_) Await(method);
  void* tag = nullptr;
  for (bool ok = false; queue_->Next(&tag, &ok);) {
    std::unique_ptr<Call> call(static_cast<Call*>(tag));
    // The server ends, or the answer is on its way.
    if (!ok || call->answered) continue;
    Await(call->method);
    grpc::ByteBuffer answer;
    const grpc::Status status =
        call->method.answer(call->context, call->request, &answer);
    call->answered = true;
    PromptMethod::Writer& writer = call->writer;
    Call* const sent = call.release();
    if (status.ok()) {
      writer.Finish(answer, status, sent);
    } else {
      writer.FinishWithError(status, sent);
    }
  }
}

void PromptServer::Await(const PromptMethod& method) {
  auto call = std::make_unique<Call>(method);
  // gRPC can forget what is asked for while its Shutdown() begins: the queue,
  // and with it the thread, would never end.
  const MutexLock lock(mutex_);
  if (ending_) return;
  Call& next = *call;
  method.request(&next.context, &next.request, &next.writer, queue_.get(),
                 call.release());
}

grpc::Status ServePromptly(
    Rpc& rpc, grpc::ServerContext& context,
    const google::protobuf::Message& request,
    const google::protobuf::Message& response,
    const std::function<absl::Status(const CallContext&)>& handler) {
  const CallContext call = NewCall(rpc, context, request, std::stop_token());
  grpc::Status answer(grpc::StatusCode::INTERNAL, "");
  // The handler has its status at once, so nothing comes after Start().
  RunCall(rpc, call, request, response, handler)
      .Start([&](const absl::Status& status) {
        answer = ToGrpc(status, call.caller.request_id);
      });
  return answer;
}

}  // namespace addons
