#include "volume/lookup_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "tests/unit/volume/memory_cluster.h"

namespace addons {
namespace {

using ::addons::testing::Gate;

TEST(LookupThreadsTest, RunsAJob) {
  LookupThreads threads;
  Gate ran;
  EXPECT_TRUE(threads.Run("a", [&] { ran.Open(); }));
  ran.Pass();
}

TEST(LookupThreadsTest, RunsManyJobsInManyLanes) {
  Gate all;
  std::atomic<int> count{0};
  LookupThreads threads;
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(threads.Run(std::to_string(i % 5), [&] {
      if (++count == 500) all.Open();
    }));
  }
  all.Pass();
  EXPECT_EQ(count, 500);
}

TEST(LookupThreadsTest, AFullLaneDoesNotHinderAnother) {
  Gate hang;
  LookupThreads threads;
  for (int i = 0; i < LookupThreads::kThreadsPerLane + 1; ++i) {
    EXPECT_TRUE(threads.Run("dead", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(LookupThreads::kThreadsPerLane);
  Gate ran;
  EXPECT_TRUE(threads.Run("alive", [&] { ran.Open(); }));
  ran.Pass();
  hang.Open();
}

TEST(LookupThreadsTest, ALaneHasABoundedNumberOfThreads) {
  Gate hang;
  Gate queued_ran;
  std::atomic<bool> queued{false};
  LookupThreads threads;
  for (int i = 0; i < LookupThreads::kThreadsPerLane; ++i) {
    EXPECT_TRUE(threads.Run("a", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(LookupThreads::kThreadsPerLane);
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

TEST(LookupThreadsTest, DestructionDropsTheQueueAndWaitsForWhatRuns) {
  Gate hang;
  std::atomic<bool> finished{false};
  std::atomic<bool> queued_ran{false};
  auto threads = std::make_unique<LookupThreads>();
  for (int i = 0; i < LookupThreads::kThreadsPerLane; ++i) {
    EXPECT_TRUE(threads->Run("a", [&] { hang.Pass(); }));
  }
  hang.AwaitArrivals(LookupThreads::kThreadsPerLane);
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
