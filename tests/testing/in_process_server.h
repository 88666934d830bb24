#ifndef ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_
#define ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/start_thread.h"
#include "rpc/prompt_server.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {

/// One gRPC service, served within the process until this dies.
class InProcessServer {
 public:
  /// `service` is not owned; `prompt` are methods of it.
  explicit InProcessServer(grpc::Service& service,
                           std::vector<PromptMethod> prompt = {}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    auto started = PromptServer::Start(builder, std::move(prompt), StartThread);
    EXPECT_OK(started);
    if (started.ok()) server_ = *std::move(started);
  }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  std::shared_ptr<grpc::Channel> Channel() {
    return server_->server().InProcessChannel(grpc::ChannelArguments());
  }

 private:
  std::unique_ptr<PromptServer> server_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_
