#include "operation/table/lane_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace addons {
namespace {

using Place = LaneQueue::Place;

WorkerShare Of(const char* cluster) {
  return WorkerShare::OfCluster(ClusterId(cluster));
}

TEST(LaneQueueTest, RunsAtMostTheLimitAtOnce) {
  LaneQueue queue(LaneLimits{2, 2, 10});
  EXPECT_EQ(queue.Push(1, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(2, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(3, Of("a")), Place::kQueued);
  EXPECT_EQ(queue.reserved(), 2U);
}

TEST(LaneQueueTest, RefusesBeyondTheQueueBound) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  EXPECT_EQ(queue.Push(1, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(2, Of("a")), Place::kQueued);
  EXPECT_EQ(queue.Push(3, Of("a")), Place::kFull);
  EXPECT_EQ(queue.queued(), 1U);
}

TEST(LaneQueueTest, RunningEntriesDoNotCountForTheQueueBound) {
  LaneQueue queue(LaneLimits{3, 3, 0});
  EXPECT_EQ(queue.Push(1, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(2, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(3, Of("a")), Place::kReady);
  EXPECT_EQ(queue.Push(4, Of("a")), Place::kFull);
}

TEST(LaneQueueTest, WhatGoesOnIsNotRefused) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  queue.Push(1, Of("a"));
  EXPECT_EQ(queue.Pop(), 1U);
  queue.Finish(Of("a"));
  queue.Push(2, Of("a"));
  EXPECT_EQ(queue.Push(3, Of("a")), Place::kQueued);
  queue.PushAgain(1, Of("a"));
  EXPECT_EQ(queue.queued(), 2U);
  EXPECT_EQ(queue.Push(4, Of("a")), Place::kFull);
  for (const uint64_t next : {2U, 3U, 1U}) {
    EXPECT_EQ(queue.Pop(), next);
    queue.Finish(Of("a"));
  }
  queue.PushAgain(1, Of("a"));
  EXPECT_EQ(queue.Pop(), 1U);
}

TEST(LaneQueueTest, AClusterBeyondItsShareLetsOthersPass) {
  LaneQueue queue(LaneLimits{3, 1, 10});
  EXPECT_EQ(queue.Push(1, Of("hung")), Place::kReady);
  EXPECT_EQ(queue.Push(2, Of("hung")), Place::kQueued);
  EXPECT_EQ(queue.Push(3, Of("fine")), Place::kReady);
}

TEST(LaneQueueTest, ClustersThatHangLeaveAWorkerToEachOther) {
  LaneQueue queue(LaneLimits{4, 2, 10});
  uint64_t id = 0;
  for (const char* hung : {"one", "two"}) {
    for (int i = 0; i < 3; ++i) queue.Push(++id, Of(hung));
  }
  EXPECT_EQ(queue.reserved(), 4U);
  EXPECT_EQ(queue.Push(7, Of("third")), Place::kReady);
  EXPECT_EQ(queue.Push(8, Of("third")), Place::kQueued);
  EXPECT_EQ(queue.Push(9, Of("fourth")), Place::kReady);
  // One after the other.
  queue.Finish(Of("third"));
  EXPECT_EQ(queue.ready(), 7U);
  EXPECT_EQ(queue.reserved(), 6U);
}

TEST(LaneQueueTest, TheWorkersBeyondTheLimitAreBoundedToo) {
  LaneQueue queue(LaneLimits{1, 1, 10});
  for (size_t i = 0; i < LaneQueue::kMostShares; ++i) {
    EXPECT_EQ(queue.Push(i, Of(std::to_string(i).c_str())), Place::kReady);
  }
  EXPECT_EQ(queue.Push(100, Of("one more")), Place::kQueued);
}

TEST(LaneQueueTest, FewLookAtATimeAndManyChange) {
  LaneQueue queue(LaneLimits{8, 4, 10, 2});
  for (uint64_t id = 1; id <= 6; ++id) queue.Push(id, Of("a"));
  EXPECT_EQ(queue.reserved(), 2U);
  for (size_t changing = 1; changing <= 2; ++changing) {
    EXPECT_EQ(queue.Pop(), changing);
    queue.BeginsToChange(Of("a"));
    EXPECT_EQ(queue.reserved(), 2U + changing);
  }
  // Four is the share of the cluster.
  EXPECT_EQ(queue.Pop(), 3U);
  queue.BeginsToChange(Of("a"));
  EXPECT_EQ(queue.reserved(), 4U);
  queue.Finish(Of("a"), LaneQueue::Stage::kChanges);
  EXPECT_EQ(queue.reserved(), 4U);
  EXPECT_EQ(queue.Push(7, Of("b")), Place::kReady);
}

TEST(LaneQueueTest, FencingAndTheNodeHaveSharesOfTheirOwn) {
  LaneQueue queue(LaneLimits{4, 1, 10});
  const ClusterId hung("hung");
  EXPECT_EQ(queue.Push(1, WorkerShare::OfCluster(hung)), Place::kReady);
  EXPECT_EQ(queue.Push(2, WorkerShare::OfFence(hung)), Place::kReady);
  EXPECT_EQ(queue.Push(3, WorkerShare::OfNode()), Place::kReady);
  EXPECT_EQ(queue.Push(4, WorkerShare::OfFence(hung)), Place::kQueued);
  EXPECT_EQ(queue.Push(5, WorkerShare::OfNode()), Place::kQueued);
}

TEST(LaneQueueTest, PopsInOrderOfArrival) {
  LaneQueue queue(LaneLimits{2, 2, 10});
  queue.Push(7, Of("a"));
  queue.Push(8, Of("a"));
  EXPECT_EQ(queue.Pop(), 7U);
  EXPECT_EQ(queue.Pop(), 8U);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(LaneQueueTest, FinishTakesTheOldestWhoseClusterIsBelowItsShare) {
  LaneQueue queue(LaneLimits{2, 1, 10});
  queue.Push(1, Of("a"));
  queue.Push(2, Of("b"));
  queue.Push(3, Of("a"));  // oldest, but its cluster has its share
  queue.Push(4, Of("b"));
  queue.Pop();
  queue.Pop();
  queue.Finish(Of("b"));
  EXPECT_EQ(queue.Pop(), 4U);
  queue.Finish(Of("a"));
  EXPECT_EQ(queue.Pop(), 3U);
}

TEST(LaneQueueTest, RemovingAReadyEntryGivesItsWorkerToTheNext) {
  LaneQueue queue(LaneLimits{1, 1, 10});
  queue.Push(1, Of("a"));
  queue.Push(2, Of("a"));
  EXPECT_TRUE(queue.Remove(1));
  EXPECT_EQ(queue.Pop(), 2U);
  EXPECT_EQ(queue.reserved(), 1U);
}

TEST(LaneQueueTest, RemovingAQueuedEntryMakesRoom) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  queue.Push(1, Of("a"));
  queue.Push(2, Of("a"));
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_EQ(queue.Push(3, Of("a")), Place::kQueued);
}

TEST(LaneQueueTest, APoppedEntryCannotBeRemoved) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  queue.Push(1, Of("a"));
  queue.Pop();
  EXPECT_FALSE(queue.Remove(1));
  EXPECT_EQ(queue.reserved(), 1U);
}

TEST(LaneQueueTest, ALaneWithoutWorkersStillHasOne) {
  LaneQueue queue(LaneLimits{});
  EXPECT_EQ(queue.Push(1, Of("a")), Place::kReady);
}

}  // namespace
}  // namespace addons
