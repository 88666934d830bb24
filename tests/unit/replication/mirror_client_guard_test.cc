// What librbd's lock handling did to rbd-mirror while an image was opened.

#include "replication/steps/ceph_faults/mirror_client_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>

#include "ceph/mirror_clients.h"
#include "ceph/pool.h"
#include "tests/fakes/mirrored_pair.h"
#include "tests/testing/status_matchers.h"

namespace addons::testing {
namespace {

using std::chrono::hours;

class MirrorClientGuardTest : public ::testing::Test {
 protected:
  MirrorClientGuardTest() : cluster_(pair_.cluster(site_)) {
    auto pool = cluster_->OpenPool(pair_.pool_id(site_), "", Access::kRead);
    EXPECT_OK(pool);
    pool_ = *std::move(pool);
  }
  /// Whether the timeline was told by a guard around `what`.
  template <typename What>
  bool ToldOf(const What& what) {
    {
      const MirrorClientGuard guard(*cluster_, *pool_, timeline_);
      what();
    }
    return timeline_.Disturbed(cluster_->fsid());
  }

  FakeWorld world_;
  MirroredPair pair_{world_};
  FakeSite& site_ = pair_.b();
  Timeline timeline_{world_};
  const std::shared_ptr<Cluster> cluster_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(MirrorClientGuardTest, NothingHappened) {
  EXPECT_FALSE(ToldOf([&] {
    site_.AddBlocklistEntry("192.168.1.7:0/4711", hours(1));
  })) << "somebody else";
}

TEST_F(MirrorClientGuardTest, NoMemoryToLook) {
  EXPECT_TRUE(ToldOf([&] {
    world_.SetCallHook([](absl::string_view, absl::string_view, bool) -> int {
      throw std::bad_alloc();
    });
  })) << "a peer must not be taken for dead";
}

TEST_F(MirrorClientGuardTest, RbdMirrorWasBlocklisted) {
  EXPECT_TRUE(ToldOf([&] {
    const auto clients = ListMirrorClients(*pool_);
    ASSERT_OK(clients);
    ASSERT_FALSE(clients->empty());
    site_.AddBlocklistEntry(clients->front().address, hours(1));
  }));
}

TEST_F(MirrorClientGuardTest, WhatCannotBeToldMayHaveHappened) {
  EXPECT_TRUE(ToldOf(
      [&] { site_.SetBlocklistListing(BlocklistListing::kNestedArrays); }));
}

}  // namespace
}  // namespace addons::testing
