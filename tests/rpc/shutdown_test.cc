#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"
#include "replication/replication.grpc.pb.h"
#include "server/daemon.h"
#include "server/signals.h"
#include "tests/rpc/app_fixture.h"
#include "tests/testing/no_threads.h"

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
}

TEST_F(ShutdownTest, NeedsNoThreadThatIsNotThereYet) {
  // Of each socket one accepts connections, one answers Probe, and one waits
  // for the end.
  start_thread_ = testing::NoThreads(6);
  ASSERT_OK(Start());
  EXPECT_TRUE(app_->Shutdown(std::chrono::seconds(30)));
}

TEST_F(ShutdownTest, ADaemonThatFindsNoThreadDoesNotStart) {
  for (const int first : {0, 1, 2, 3, 4, 5}) {
    start_thread_ = testing::NoThreads(first);
    EXPECT_THAT(Start(),
                testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                  ::testing::HasSubstr("limit of processes")));
    EXPECT_FALSE(std::filesystem::exists(config_.socket_path));
    EXPECT_FALSE(std::filesystem::exists(config_.admin_socket_path));
  }
}

TEST(TerminationSignalsTest, TheThreadOfTheSecondSignalIsMadeAtOnce) {
  // On a thread of its own, which keeps the mask.
  std::jthread([] {
    EXPECT_FALSE(TerminationSignals::Block(testing::NoThreads()).ok());
    int started = 0;
    auto signals = TerminationSignals::Block(
        [&](const std::string& name, std::function<void()> run) {
          ++started;
          return StartThread(name, std::move(run));
        });
    ASSERT_OK(signals);
    EXPECT_EQ(started, 1);
    (*signals)->OnNext([](int) {});
    EXPECT_EQ(started, 1);
  }).join();
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

// Whose connections never close. Nobody comes after that to remove `folder`.
class StuckClusters final : public ClusterProvider {
 public:
  explicit StuckClusters(std::string folder) : folder_(std::move(folder)) {}
  ~StuckClusters() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    std::promise<void>().get_future().wait();
  }
  absl::StatusOr<std::shared_ptr<Cluster>> Connect(
      const ClusterTarget& /*target*/, const CephUserRef& /*user*/) override {
    return absl::UnavailableError("stuck");
  }

 private:
  const std::string folder_;
};

// With signals blocked, the daemon finds the signal when it begins to wait.
int RunAndStop(const Config& config) {
  InitLog("info").IgnoreError();
  return RunDaemon(config, [&config] {
    kill(getpid(), SIGTERM);
    AppParts parts;
    parts.clusters = std::make_unique<StuckClusters>(config.config_dir);
    return parts;
  });
}

// A process of its own runs each test up to its statement, so the folder is
// made and removed there.
Config ConfigIn(const ::addons::testing::TempDir& dir) {
  Config config;
  config.socket_path = dir.File("s");
  config.config_dir = dir.path();
  return config;
}

int StartWithoutThreads() {
  const ::addons::testing::TempDir dir;
  InitLog("info").IgnoreError();
  return RunDaemon(ConfigIn(dir), []() -> AppParts {
    throw std::system_error(
        std::make_error_code(std::errc::resource_unavailable_try_again));
  });
}

int StopWithACallThatHangs() {
  const ::addons::testing::TempDir dir;
  Config config = ConfigIn(dir);
  config.shutdown_grace = std::chrono::milliseconds(100);
  return RunAndStop(config);
}

TEST(RunDaemonDeathTest, NoThreadAtTheStartIsAnExitCodeWithAMessage) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(StartWithoutThreads()),
              ::testing::ExitedWithCode(kExitFailed),
              "failed to start .*raise the limits of processes");
}

TEST(RunDaemonDeathTest, WhatNobodyWaitsForDoesNotKeepTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(StopWithACallThatHangs()),
              ::testing::ExitedWithCode(kExitForced), "given up");
}

}  // namespace
}  // namespace addons
