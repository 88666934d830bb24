#ifndef ADDONS_TESTS_RPC_KEY_ROTATION_SERVER_H_
#define ADDONS_TESTS_RPC_KEY_ROTATION_SERVER_H_

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "encryptionkeyrotation/encryptionkeyrotation.grpc.pb.h"
#include "keyrotation/key_rotation_service.h"
#include "operation/operation_table.h"
#include "rpc/unary_call.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/encrypted_node.h"

namespace addons::testing {

/// encryptionkeyrotation.EncryptionKeyRotationController behind a socket, on a
/// node that is played, with a real LUKS header. Time is real.
class KeyRotationServer {
 public:
  using Request = ::encryptionkeyrotation::EncryptionKeyRotateRequest;

  KeyRotationServer() {
    // Ending gRPC's library with each server can take it 10 s.
    static const bool kept = (grpc_init(), true);
    EXPECT_TRUE(kept);
    RotationEnvironment environment =
        node.Environment(resolver_, [this](std::unique_ptr<LuksHeader> header) {
          ++opened_;
          if (held_) released_.wait();
          return header;
        });
    environment.check_node = [this](const LinuxRoots&, const MappedDevice&) {
      return device_answer;
    };
    service_ = std::make_unique<KeyRotationService>(rpc_, operations_,
                                                    std::move(environment));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket(),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
  }
  ~KeyRotationServer() {
    Release();
    server_->Shutdown();
  }

  /// From now on config.json has the site's cluster only.
  void ForgetPeer() {
    node.dir().Write(
        "config.json",
        R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]}])");
  }

  /// As the sidecar asks, with the secret of the volume.
  Request Ask() {
    Request request;
    request.set_volume_id(node.id());
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_MULTI_WRITER);
    auto& secrets = *request.mutable_secrets();
    secrets["userID"] = node.site().user()->id;
    secrets["userKey"] = node.site().user()->key.Reveal();
    secrets["encryptionPassphrase"] = EncryptedNode::kSecret;
    return request;
  }
  grpc::Status Call(const Request& request, std::chrono::milliseconds deadline =
                                                std::chrono::seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    ::encryptionkeyrotation::EncryptionKeyRotateResponse response;
    return ::encryptionkeyrotation::EncryptionKeyRotationController::NewStub(
               grpc::CreateChannel("unix:" + socket(),
                                   grpc::InsecureChannelCredentials()))
        ->EncryptionKeyRotate(&context, request, &response);
  }
  std::future<grpc::Status> CallLater(const Request& request) {
    return std::async(std::launch::async,
                      [this, request] { return Call(request); });
  }

  /// Rotations wait before they look at the header until Release().
  void Hold() { held_ = true; }
  void Release() {
    if (!open_.exchange(true)) release_.set_value();
  }
  /// How often the header was read.
  int opened() const { return opened_; }

 private:
  std::string socket() const { return node.dir().File("s"); }

  LogCapture log_;  // first, because the daemon's threads write to it
  FakeWorld world_;

 public:
  EncryptedNode node{world_};
  absl::Status device_answer;

 private:
  ConfigStore config_{node.dir().path()};
  Resolver resolver_{config_, node.pair().provider()};
  Rpc rpc_{RealClock()};
  std::atomic<int> opened_{0};
  std::atomic<bool> held_{false};
  std::atomic<bool> open_{false};
  std::promise<void> release_;
  std::shared_future<void> released_{release_.get_future()};
  // Last, because operations use everything above.
  std::unique_ptr<KeyRotationService> service_;
  OperationTable operations_{{}, RealClock()};
  std::unique_ptr<grpc::Server> server_;

 public:
  std::string log() const { return log_.text(); }
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_KEY_ROTATION_SERVER_H_
