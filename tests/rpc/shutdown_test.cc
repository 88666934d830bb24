#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "replication/replication.grpc.pb.h"
#include "tests/rpc/app_fixture.h"

namespace addons {
namespace {

using ::addons::testing::AppFixture;
using ::addons::testing::BoundedContext;

class ShutdownTest : public AppFixture {
 protected:
  // A call whose operation sits in Connect() until gate_->release is set.
  void StartBlockedCall() {
    connect_ = [gate = gate_]() -> ConnectResult {
      if (!gate->entered_once.exchange(true)) gate->entered.set_value();
      gate->released.wait();
      return absl::UnavailableError("released");
    };
    ASSERT_OK(Start());
    caller_ = std::jthread([this] {
      ::replication::DemoteVolumeRequest request;
      request.mutable_replication_source()->mutable_volume()->set_volume_id(
          VolumeId());
      (*request.mutable_secrets())["userID"] = "admin";
      (*request.mutable_secrets())["userKey"] = SecretKey();
      ::replication::DemoteVolumeResponse response;
      answer_ = ::replication::Controller::NewStub(Channel())->DemoteVolume(
          BoundedContext().get(), request, &response);
    });
    gate_->entered.get_future().wait();
  }

  // The threads in Connect() may outlive the test.
  struct Gate {
    std::atomic<bool> entered_once{false};
    std::promise<void> entered;
    std::promise<void> release;
    std::shared_future<void> released{release.get_future()};
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  grpc::Status answer_;
  std::jthread caller_;
};

TEST_F(ShutdownTest, AnIdleDaemonStopsAtOnce) {
  ASSERT_OK(Start());
  EXPECT_TRUE(app_->Shutdown(std::chrono::seconds(30)));
  EXPECT_FALSE(std::filesystem::exists(config_.socket_path));
  EXPECT_FALSE(std::filesystem::exists(config_.socket_path + ".lock"));
}

TEST_F(ShutdownTest, CanBeCalledTwice) {
  ASSERT_OK(Start());
  EXPECT_TRUE(app_->Shutdown(std::chrono::seconds(30)));
  EXPECT_TRUE(app_->Shutdown(std::chrono::seconds(30)));
}

TEST_F(ShutdownTest, WaitsForRunningWork) {
  StartBlockedCall();
  auto drained = std::async(std::launch::async, [this] {
    return app_->Shutdown(std::chrono::seconds(30));
  });
  caller_.join();  // its caller is sent away at once
  gate_->release.set_value();
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(answer_.error_code(), grpc::UNAVAILABLE) << answer_.error_message();
}

TEST_F(ShutdownTest, ReportsWorkThatDoesNotEnd) {
  StartBlockedCall();
  EXPECT_FALSE(app_->Shutdown(std::chrono::milliseconds(10)));
  EXPECT_FALSE(std::filesystem::exists(config_.socket_path));
  gate_->release.set_value();
}

}  // namespace
}  // namespace addons
