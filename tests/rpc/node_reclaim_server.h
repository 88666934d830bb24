#ifndef ADDONS_TESTS_RPC_NODE_RECLAIM_SERVER_H_
#define ADDONS_TESTS_RPC_NODE_RECLAIM_SERVER_H_

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "operation/operation_table.h"
#include "reclaimspace/node_reclaim_service.h"
#include "reclaimspace/reclaimspace.grpc.pb.h"
#include "rpc/unary_call.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/fake_node.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// reclaimspace.ReclaimSpaceNode behind a socket, on a node that is played. Its
/// volume is mounted from rbd0. Time is real.
class NodeReclaimServer {
 public:
  using Request = ::reclaimspace::NodeReclaimSpaceRequest;
  static constexpr char kUuid[] = "5ef79ce1-81e8-439b-8405-35138edf5b89";

  explicit NodeReclaimServer(OperationLimits limits = {})
      : operations_(limits, RealClock()) {
    // Ending gRPC's library with each server can take it 10 s.
    static const bool kept = (grpc_init(), true);
    EXPECT_TRUE(kept);
    pair_.WriteConfig(dir_.path());
    id = pair_.AddVolume(site, kUuid);
    node.tree.SetKrbd(
        0, {"replicapool", "2", "", MirroredPair::ImageOf(kUuid), site.fsid()});
    service_ = std::make_unique<NodeReclaimService>(
        rpc_, operations_, node.Environment(resolver_, config_));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_.File("s"),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
  }
  ~NodeReclaimServer() {
    Release();
    server_->Shutdown();
  }

  /// From now on config.json has the site's cluster only.
  void ForgetPeer() {
    dir_.Write("config.json",
               R"([{"clusterID": "site-a", "monitors": ["site-a:6789"]}])");
  }

  /// As the sidecar asks, with the secret of the site.
  Request Ask() const {
    Request request;
    request.set_volume_id(id);
    request.set_staging_target_path("/staging");
    request.mutable_volume_capability()->mutable_mount();
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_MULTI_WRITER);
    (*request.mutable_secrets())["userID"] = site.user()->id;
    (*request.mutable_secrets())["userKey"] = site.user()->key.Reveal();
    return request;
  }
  std::string endpoint() const { return "unix://" + dir_.File("s"); }
  struct Answer {
    grpc::Status status;
    ::reclaimspace::NodeReclaimSpaceResponse response;
  };
  Answer Call(const Request& request,
              std::chrono::milliseconds deadline = std::chrono::seconds(20),
              grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    if (context == nullptr) context = &own;
    context->set_deadline(std::chrono::system_clock::now() + deadline);
    Answer answer;
    answer.status = ::reclaimspace::ReclaimSpaceNode::NewStub(
                        grpc::CreateChannel("unix:" + dir_.File("s"),
                                            grpc::InsecureChannelCredentials()))
                        ->NodeReclaimSpace(context, request, &answer.response);
    return answer;
  }
  std::future<Answer> CallLater(
      const Request& request,
      std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
    return std::async(std::launch::async, [this, request, deadline] {
      return Call(request, deadline);
    });
  }

  /// Trims wait inside the kernel until Release(); `most` tells how many were
  /// there at once.
  void Hold() {
    node.SetTrim([this](const TrimRange&) {
      const int now = ++inside_;
      int seen = most_.load();
      while (seen < now && !most_.compare_exchange_weak(seen, now)) {
      }
      released_.wait();
      --inside_;
      return uint64_t{0};
    });
  }
  void Release() {
    if (!open_.exchange(true)) release_.set_value();
  }
  int inside() const { return inside_; }
  int most() const { return most_; }

 private:
  LogCapture log_;  // first, because the daemon's threads write to it
  FakeWorld world_;
  MirroredPair pair_{world_};
  const TempDir dir_;
  ConfigStore config_{dir_.path()};
  Resolver resolver_{config_, pair_.provider()};
  Rpc rpc_{RealClock()};
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
  std::atomic<bool> open_{false};
  std::promise<void> release_;
  std::shared_future<void> released_{release_.get_future()};

 public:
  FakeSite& site = pair_.a();
  FakeSite& peer = pair_.b();
  FakeNode node;
  std::string id;

 private:
  // Last, because operations use everything above.
  std::unique_ptr<NodeReclaimService> service_;
  OperationTable operations_;
  std::unique_ptr<grpc::Server> server_;

 public:
  OperationTable& operations = operations_;
  std::string log() const { return log_.text(); }
};

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_NODE_RECLAIM_SERVER_H_
