#include "ceph/librados/connection_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ceph/pool.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::ManualClock;
using ::addons::testing::StatusIs;
using std::chrono::seconds;

class StubCluster final : public CachedCluster {
 public:
  explicit StubCluster(std::shared_ptr<std::atomic<int>> alive)
      : alive_(std::move(alive)) {
    ++*alive_;
  }
  ~StubCluster() override { --*alive_; }

  const std::string& fsid() const override { return fsid_; }
  absl::StatusOr<std::unique_ptr<Pool>> OpenPool(int64_t, const std::string&,
                                                 Access) override {
    return absl::NotFoundError("no pools here");
  }
  absl::StatusOr<std::string> MonCommand(const std::string&) override {
    return "";
  }
  absl::StatusOr<std::string> MgrCommand(const std::string&) override {
    return "";
  }
  absl::Status SnapshotTogether(const std::vector<PlacedImage>&,
                                const std::string&) override {
    return absl::OkStatus();
  }
  std::vector<uint64_t> OwnClientIds() override { return {}; }
  std::vector<std::string> OwnAddresses() override { return {}; }
  absl::Status WaitForLatestMap() override { return absl::OkStatus(); }
  bool denied() const override { return denied_; }
  void Deny() { denied_ = true; }

 private:
  const std::string fsid_ = "fsid";
  const std::shared_ptr<std::atomic<int>> alive_;
  std::atomic<bool> denied_ = false;
};

class ConnectionCacheTest : public ::testing::Test {
 protected:
  static ClusterTarget Target(std::vector<std::string> monitors) {
    return {ClusterId("site-a"), std::move(monitors)};
  }
  static CephUserRef User(const std::string& id, const std::string& key) {
    return MakeCephUser(id, Secret(key));
  }
  absl::StatusOr<std::shared_ptr<Cluster>> ConnectAsUsual() {
    return cache_.Connect(Target({"10.0.0.1", "10.0.0.2"}), User("csi", "key"));
  }

  ManualClock clock_;
  std::atomic<int> connects_ = 0;
  std::shared_ptr<std::atomic<int>> alive_ =
      std::make_shared<std::atomic<int>>(0);
  std::function<absl::Status(const ClusterTarget&)> before_connect_ =
      [](const ClusterTarget&) { return absl::OkStatus(); };
  ConnectionCache cache_{ConnectionCacheOptions{{}, seconds(600)}, clock_,
                         [this](const ClusterTarget& target, const CephUserRef&)
                             -> absl::StatusOr<std::shared_ptr<CachedCluster>> {
                           ++connects_;
                           if (absl::Status status = before_connect_(target);
                               !status.ok()) {
                             return status;
                           }
                           return std::make_shared<StubCluster>(alive_);
                         }};
};

TEST_F(ConnectionCacheTest, ReusesAConnection) {
  const auto first = ConnectAsUsual();
  const auto second = ConnectAsUsual();
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(*first, *second);
}

TEST_F(ConnectionCacheTest, DoesNotMindTheOrderOfMonitors) {
  const auto first = ConnectAsUsual();
  const auto second =
      cache_.Connect(Target({"10.0.0.2", "10.0.0.1"}), User("csi", "key"));
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_EQ(*first, *second);
}

TEST_F(ConnectionCacheTest, SharesNothingBetweenUsersKeysAndClusters) {
  const auto usual = ConnectAsUsual();
  const auto other_user =
      cache_.Connect(Target({"10.0.0.1", "10.0.0.2"}), User("other", "key"));
  const auto other_key =
      cache_.Connect(Target({"10.0.0.1", "10.0.0.2"}), User("csi", "other"));
  const auto other_monitors =
      cache_.Connect(Target({"10.0.0.1"}), User("csi", "key"));
  for (const auto& other : {other_user, other_key, other_monitors}) {
    ASSERT_OK(other);
    EXPECT_NE(*other, *usual);
  }
}

TEST_F(ConnectionCacheTest, DoesNotRememberAFailure) {
  before_connect_ = [](const ClusterTarget&) {
    return absl::UnavailableError("no monitor");
  };
  ASSERT_THAT(ConnectAsUsual(), StatusIs(absl::StatusCode::kUnavailable));
  before_connect_ = [](const ClusterTarget&) { return absl::OkStatus(); };
  EXPECT_OK(ConnectAsUsual());
}

TEST_F(ConnectionCacheTest, ConnectsAnewWhenTheClusterRefusesUs) {
  const auto first = ConnectAsUsual();
  ASSERT_OK(first);
  static_cast<StubCluster&>(**first).Deny();
  const auto second = ConnectAsUsual();
  ASSERT_OK(second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(connects_, 2);
}

TEST_F(ConnectionCacheTest, ClosesWhatNobodyUsesForLong) {
  ASSERT_OK(ConnectAsUsual());
  clock_.Advance(seconds(599));
  cache_.Sweep();
  EXPECT_EQ(*alive_, 1);
  clock_.Advance(seconds(1));
  cache_.Sweep();
  EXPECT_EQ(*alive_, 0);
}

TEST_F(ConnectionCacheTest, CountsIdleTimeFromTheLastUse) {
  auto held = ConnectAsUsual();
  ASSERT_OK(held);
  clock_.Advance(seconds(3600));
  cache_.Sweep();  // in use until now
  held = absl::UnknownError("let go");
  clock_.Advance(seconds(599));
  cache_.Sweep();
  EXPECT_EQ(*alive_, 1);
}

TEST_F(ConnectionCacheTest, SweepsOnConnectToo) {
  ASSERT_OK(ConnectAsUsual());
  clock_.Advance(seconds(600));
  const auto other = cache_.Connect(Target({"10.9.9.9"}), User("csi", "key"));
  ASSERT_OK(other);
  EXPECT_EQ(*alive_, 1);
}

TEST_F(ConnectionCacheTest, SweepsWhenNobodyCalls) {
  ConnectionCacheOptions options;
  options.sweep_interval = std::chrono::milliseconds(1);
  std::promise<void> closed;
  ConnectionCache cache(
      options, clock_, [&](const ClusterTarget&, const CephUserRef&) {
        return std::shared_ptr<CachedCluster>(new StubCluster(alive_),
                                              [&](StubCluster* cluster) {
                                                delete cluster;
                                                closed.set_value();
                                              });
      });
  ASSERT_OK(cache.Connect(Target({"10.0.0.1"}), User("csi", "key")));
  clock_.Advance(seconds(600));
  EXPECT_EQ(closed.get_future().wait_for(seconds(30)),
            std::future_status::ready);
}

TEST_F(ConnectionCacheTest, KeepsNoEntryOfAFailedConnectAlive) {
  before_connect_ = [](const ClusterTarget&) {
    return absl::UnavailableError("no monitor");
  };
  ASSERT_THAT(ConnectAsUsual(), StatusIs(absl::StatusCode::kUnavailable));
  cache_.Sweep();
  before_connect_ = [](const ClusterTarget&) { return absl::OkStatus(); };
  EXPECT_OK(ConnectAsUsual());
}

TEST_F(ConnectionCacheTest, DoesNotHoldUpOthersWhileOneConnects) {
  std::promise<void> entered;
  std::promise<void> release;
  before_connect_ = [&](const ClusterTarget& target) {
    if (target.monitors.front() == "10.9.9.9") return absl::OkStatus();
    entered.set_value();
    release.get_future().wait();
    return absl::UnauthenticatedError("wrong key");
  };
  absl::Status slow;
  std::jthread first([&] { slow = ConnectAsUsual().status(); });
  entered.get_future().wait();
  EXPECT_OK(cache_.Connect(Target({"10.9.9.9"}), User("csi", "key")));
  cache_.Sweep();
  release.set_value();
  first.join();
  EXPECT_THAT(slow, StatusIs(absl::StatusCode::kUnauthenticated));
}

}  // namespace
}  // namespace addons
