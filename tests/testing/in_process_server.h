#ifndef ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_
#define ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <memory>

namespace addons::testing {

/// One gRPC service, served within the process until this dies.
class InProcessServer {
 public:
  /// `service` is not owned.
  explicit InProcessServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~InProcessServer() { server_->Shutdown(); }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  std::shared_ptr<grpc::Channel> Channel() {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_TESTING_IN_PROCESS_SERVER_H_
