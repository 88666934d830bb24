#ifndef ADDONS_TESTS_RPC_APP_FIXTURE_H_
#define ADDONS_TESTS_RPC_APP_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "ceph/cluster.h"
#include "server/app.h"
#include "tests/rpc/log_capture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace addons::testing {

/// Clusters that are as the test says. `connect` runs on several threads.
class ScriptedClusters final : public ClusterProvider {
 public:
  using Connected = absl::StatusOr<std::shared_ptr<Cluster>>;
  explicit ScriptedClusters(std::function<Connected()> connect)
      : connect_(std::move(connect)) {}

  Connected Connect(const ClusterTarget& /*target*/,
                    const CephUserRef& /*user*/) override {
    return connect_();
  }

 private:
  const std::function<Connected()> connect_;
};

/// A real daemon in this process, behind a socket in a folder of its own.
class AppFixture : public ::testing::Test {
 public:
  using ConnectResult = ScriptedClusters::Connected;

 protected:
  AppFixture() {
    WriteConfig();
    config_.socket_path = dir_.File("s");
    config_.admin_socket_path = dir_.File("a");
    config_.config_dir = dir_.path();
    config_.modes.controller = true;
  }

  void WriteConfig() {
    dir_.Write("config.json",
               R"([{"clusterID": "cluster", "monitors": ["127.0.0.1:1"]}])");
  }

  absl::Status Start() {
    AppParts parts;
    parts.clusters = std::make_unique<ScriptedClusters>(connect_);
    parts.start_thread = start_thread_;
    auto app = App::Create(config_, std::move(parts));
    if (!app.ok()) return app.status();
    app_ = *std::move(app);
    return absl::OkStatus();
  }

  std::string endpoint() const { return "unix://" + config_.socket_path; }
  std::shared_ptr<grpc::Channel> Channel() const {
    return grpc::CreateChannel("unix:" + config_.socket_path,
                               grpc::InsecureChannelCredentials());
  }

  std::string admin_endpoint() const {
    return "unix://" + config_.admin_socket_path;
  }
  std::shared_ptr<grpc::Channel> AdminChannel() const {
    return grpc::CreateChannel("unix:" + config_.admin_socket_path,
                               grpc::InsecureChannelCredentials());
  }

  /// A volume of the cluster in WriteConfig(), in pool 1.
  static std::string VolumeId() {
    return "0001-0007-cluster-0000000000000001-"
           "11111111-2222-3333-4444-555555555555";
  }
  /// A cephx key of no cluster.
  static std::string SecretKey() {
    return "AQBGK0tlAAAAABAAe1jGVJUIbxnSHUjzYVN5eg==";
  }

  LogCapture log_;  // first, because the daemon's threads write to it
  const TempDir dir_;
  Config config_;
  std::function<ConnectResult()> connect_ = [] {
    return absl::UnavailableError("no monitor answered");
  };
  ThreadStarter start_thread_ = StartThread;
  std::unique_ptr<App> app_;
};

/// A client's side of one call, bounded so that no test hangs.
inline std::unique_ptr<grpc::ClientContext> BoundedContext(
    std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + timeout);
  return context;
}

}  // namespace addons::testing

#endif  // ADDONS_TESTS_RPC_APP_FIXTURE_H_
