#include "rpc/malformed_requests.h"

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "rpc/status.h"

namespace addons {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

class Answerer final : public grpc::experimental::Interceptor {
 public:
  Answerer(Rpc& rpc, const ServerRpcInfo& info)
      : rpc_(rpc),
        unary_(info.type() == ServerRpcInfo::Type::UNARY),
        method_(absl::StripPrefix(info.method(), "/")) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (unary_ &&
        methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_MESSAGE) &&
        methods->GetRecvMessage() == nullptr) {
      malformed_ = true;
    }
    if (malformed_ && methods->QueryInterceptionHookPoint(
                          InterceptionHookPoints::PRE_SEND_STATUS)) {
      methods->ModifySendStatus(AnswerMalformed(rpc_, method_));
    }
    methods->Proceed();
  }

 private:
  Rpc& rpc_;
  const bool unary_;
  const std::string method_;
  bool malformed_ = false;
};

class Factory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Rpc& rpc) : rpc_(rpc) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* info) override {
    return new Answerer(rpc_, *info);  // gRPC owns it
  }

 private:
  Rpc& rpc_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeMalformedRequestAnswerer(Rpc& rpc) {
  return std::make_unique<Factory>(rpc);
}

grpc::Status AnswerMalformed(Rpc& rpc, const std::string& method) {
  const std::string request_id = rpc.NextRequestId();
  const absl::Status status = absl::InvalidArgumentError(
      "the request cannot be read: it is no message of its type, or a text "
      "in it is not valid UTF-8");
  rpc.stats().Started();
  rpc.stats().Finished(method, status.code(), SteadyDuration(0));
  rpc.access_log().Write(
      {request_id, method, "", status, std::chrono::milliseconds(0)});
  return ToGrpc(status, request_id);
}

}  // namespace addons
