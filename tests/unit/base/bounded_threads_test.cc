#include "base/bounded_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "tests/testing/gate.h"
#include "tests/testing/no_threads.h"

namespace addons {
namespace {

using ::addons::testing::Gate;

TEST(BoundedThreadsTest, RunsAJob) {
  BoundedThreads threads("test");
  Gate ran;
  EXPECT_TRUE(threads.Run("a", [&] { ran.Open(); }));
  ran.Pass();
}

TEST(BoundedThreadsTest, RunsManyJobsInManyLanes) {
  Gate all;
  std::atomic<int> count{0};
  BoundedThreads threads("test");
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(threads.Run(std::to_string(i % 5), [&] {
      if (++count == 500) all.Open();
    }));
  }
  all.Pass();
  EXPECT_EQ(count, 500);
}

TEST(BoundedThreadsTest, AnExceptionEndsItsJobOnly) {
  BoundedThreads threads("test");
  EXPECT_TRUE(threads.Run("a", [] { throw std::bad_alloc(); }));
  Gate ran;
  EXPECT_TRUE(threads.Run("a", [&] { ran.Open(); }));
  ran.Pass();
}

TEST(BoundedThreadsTest, WithoutAnyThreadTheJobIsRefused) {
  BoundedThreads threads("test", testing::NoThreads());
  bool ran = false;
  EXPECT_FALSE(threads.Run("a", [&] { ran = true; }));
  EXPECT_FALSE(ran);
}

TEST(BoundedThreadsTest, NoMemoryForAThreadIsNoEnd) {
  BoundedThreads threads(
      "test",
      [](const std::string&, const std::function<void()>&)
          -> std::optional<std::jthread> { throw std::bad_alloc(); });
  EXPECT_FALSE(threads.Run("a", [] {}));
}

TEST(BoundedThreadsTest, AFullLaneDoesNotHinderAnother) {
  Gate hang;
  BoundedThreads threads("test");
  for (int i = 0; i < BoundedThreads::kThreadsPerLane + 1; ++i) {
    EXPECT_TRUE(threads.Run("dead", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(BoundedThreads::kThreadsPerLane);
  Gate ran;
  EXPECT_TRUE(threads.Run("alive", [&] { ran.Open(); }));
  ran.Pass();
  hang.Open();
}

TEST(BoundedThreadsTest, ALaneHasABoundedNumberOfThreads) {
  Gate hang;
  Gate queued_ran;
  std::atomic<bool> queued{false};
  BoundedThreads threads("test");
  for (int i = 0; i < BoundedThreads::kThreadsPerLane; ++i) {
    EXPECT_TRUE(threads.Run("a", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(BoundedThreads::kThreadsPerLane);
  EXPECT_TRUE(threads.Run("a", [&] {
    queued = true;
    queued_ran.Open();
  }));
  // Another lane's job comes and goes meanwhile: the queued one has no thread.
  Gate other;
  EXPECT_TRUE(threads.Run("b", [&] { other.Open(); }));
  other.Pass();
  EXPECT_FALSE(queued);
  hang.Open();
  queued_ran.Pass();
}

TEST(BoundedThreadsTest, DestructionDropsTheQueueAndWaitsForWhatRuns) {
  Gate hang;
  std::atomic<bool> finished{false};
  std::atomic<bool> queued_ran{false};
  auto threads = std::make_unique<BoundedThreads>("test");
  for (int i = 0; i < BoundedThreads::kThreadsPerLane; ++i) {
    EXPECT_TRUE(threads->Run("a", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(BoundedThreads::kThreadsPerLane);
  auto token = std::make_shared<int>(0);
  EXPECT_TRUE(threads->Run("a", [&, token] { queued_ran = true; }));
  const std::weak_ptr<int> queued_job = token;
  token.reset();
  Gate began;
  std::jthread destroyer([&] {
    began.Open();
    threads.reset();
    finished = true;
  });
  began.Pass();
  while (!queued_job.expired()) std::this_thread::yield();
  EXPECT_FALSE(finished);
  hang.Open();
  destroyer.join();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(queued_ran);
}

}  // namespace
}  // namespace addons
