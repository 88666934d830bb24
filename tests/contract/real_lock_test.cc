// The exclusive lock between two clients of a real cluster.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "ceph/errors.h"
#include "ceph/librados/call_gate.h"
#include "ceph/librados/connection_cache.h"
#include "tests/cluster/real_bed.h"
#include "tests/contract/real_fixture.h"
#include "tests/testing/status_matchers.h"

namespace addons {
namespace {

using ::addons::testing::Bed;
using ::addons::testing::Eventually;
using ::addons::testing::RealBed;
using ::addons::testing::ShortTimeouts;
using std::chrono::seconds;

/// An image that `ours_` and `theirs_`, two clients, have open.
class RealLockTest : public RealTest {
 protected:
  void Open(const std::string& name) {
    ours_ = OpenWritable(name);
    const auto other = other_cache_.Connect(Bed().Target("a"), Bed().User("a"));
    ASSERT_OK(other);
    pool_ = (*other)->OpenPool(Bed().PoolId("a"), "", Access::kMutate).value();
    theirs_ = pool_->OpenImage(ImageName(name)).value();
  }

  ConnectionCache other_cache_{ShortTimeouts(), RealClock(), gate_};
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Image> ours_;
  std::unique_ptr<Image> theirs_;
};

/// As long as that one writes at once: after 2 s it is asked for the lock.
TEST_F(RealLockTest, MetadataDoesNotTakeTheLockFromAnotherClient) {
  const std::string name = MakeImage();
  Open(name);
  bool at_once = false;
  for (int round = 0; round < 20 && !at_once; ++round) {
    const std::string value = absl::StrCat(round);
    ASSERT_OK(theirs_->SetMetadata("first", value));
    ASSERT_TRUE(Eventually([&] {
      // Where this machine was so slow that `ours_` has the lock by now.
      return theirs_->HoldsLock().value_or(false) ||
             !theirs_->Write({{{0, 1}, "y"}}).ok();
    }));
    const SteadyTime begin = RealClock().Now();
    ASSERT_OK(ours_->SetMetadata("second", value));
    at_once = RealClock().Now() - begin < seconds(2);
    if (at_once) {
      EXPECT_TRUE(theirs_->HoldsLock().value_or(false));
      EXPECT_FALSE(ours_->HoldsLock().value_or(true));
    }
    EXPECT_EQ(OpenReadOnly(name)->Metadata("second")->value_or(""), value);
  }
  EXPECT_TRUE(at_once) << "never within 2 s";
}

/// Without help librbd waits in some of such moments until the other client has
/// gone.
TEST_F(RealLockTest, MetadataIsWrittenWhileAnotherClientTakesTheLock) {
  const std::string name = MakeImage();
  SteadyDuration slowest{};
  for (int round = 0; round < 60; ++round) {
    Open(name);
    ASSERT_OK(ours_->SetMetadata("key", "before"));
    std::jthread writer([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        EXPECT_OK(theirs_->Write({{{0, 1}, "y"}}));
      }
    });
    const SteadyTime begin = RealClock().Now();
    ASSERT_OK(round % 2 == 0 ? ours_->RemoveMetadata("key")
                             : ours_->SetMetadata("key", "after"));
    slowest = std::max(slowest, RealClock().Now() - begin);
  }
  // Not for as long as the other client writes; 6 s were seen under load.
  EXPECT_LT(slowest, seconds(20));
  EXPECT_EQ(OpenReadOnly(name)->Metadata("key")->value_or(""), "after");
}

TEST_F(RealLockTest, SparsifyEndsSoonAfterAnotherClientTookTheLock) {
  constexpr uint64_t kObjects = 4096;  // about a second of work
  constexpr uint64_t kObjectBytes = 64 << 10;
  const std::string name = Name("image");
  ASSERT_OK(Bed().Run("rbd", {"a", "create", "--size", "256M", "--object-size",
                              "64K", absl::StrCat(RealBed::kPool, "/", name)}));
  Open(name);
  std::vector<ImageData> content;
  for (uint64_t object = 0; object < kObjects; ++object) {
    content.push_back({{object * kObjectBytes, 1}, "x"});
  }
  ASSERT_OK(ours_->Write(content));
  for (int round = 0; round < 12; ++round) {
    ASSERT_OK(ours_->Flush());
    std::atomic<uint64_t> calls = 0;
    auto work = std::async(std::launch::async, [&] {
      return ours_->Sparsify(4096, [&](uint64_t, uint64_t) {
        ++calls;
        return true;  // nobody saw the other one come
      });
    });
    ASSERT_TRUE(Eventually([&] { return calls > 50; }));
    const SteadyTime begin = RealClock().Now();
    ASSERT_OK(theirs_->Write({{{0, 1}, "y"}}));
    ASSERT_EQ(work.wait_for(seconds(30)), std::future_status::ready);
    EXPECT_LT(RealClock().Now() - begin, seconds(5));
    const auto end = work.get();
    ASSERT_OK(end);
    EXPECT_EQ(*end, SparsifyEnd::kLockLost);
    EXPECT_LT(calls, kObjects / 2);
    EXPECT_OK(theirs_->Write({{{0, 1}, "z"}}));
  }
}

TEST_F(RealLockTest, AFlushLeavesALockThatWasTakenExplicitly) {
  Open(MakeImage());
  ASSERT_OK(theirs_->AcquireLock(LockMode::kExclusive));
  EXPECT_EQ(CephErrno(ours_->Flush()), EROFS);
  EXPECT_TRUE(theirs_->HoldsLock().value_or(false));
  EXPECT_OK(theirs_->Write({{{0, 1}, "z"}}));
}

}  // namespace
}  // namespace addons
