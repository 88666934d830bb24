#include "operation/lane_queue.h"

#include <gtest/gtest.h>

namespace addons {
namespace {

using Place = LaneQueue::Place;

TEST(LaneQueueTest, RunsAtMostTheLimitAtOnce) {
  LaneQueue queue(LaneLimits{2, 2, 10});
  EXPECT_EQ(queue.Push(1, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(2, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(3, "a"), Place::kQueued);
  EXPECT_EQ(queue.reserved(), 2U);
}

TEST(LaneQueueTest, RefusesBeyondTheQueueBound) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  EXPECT_EQ(queue.Push(1, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(2, "a"), Place::kQueued);
  EXPECT_EQ(queue.Push(3, "a"), Place::kFull);
  EXPECT_EQ(queue.queued(), 1U);
}

TEST(LaneQueueTest, RunningEntriesDoNotCountForTheQueueBound) {
  LaneQueue queue(LaneLimits{3, 3, 0});
  EXPECT_EQ(queue.Push(1, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(2, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(3, "a"), Place::kReady);
  EXPECT_EQ(queue.Push(4, "a"), Place::kFull);
}

TEST(LaneQueueTest, AClusterBeyondItsShareLetsOthersPass) {
  LaneQueue queue(LaneLimits{3, 1, 10});
  EXPECT_EQ(queue.Push(1, "hung"), Place::kReady);
  EXPECT_EQ(queue.Push(2, "hung"), Place::kQueued);
  EXPECT_EQ(queue.Push(3, "fine"), Place::kReady);
}

TEST(LaneQueueTest, PopsInOrderOfArrival) {
  LaneQueue queue(LaneLimits{2, 2, 10});
  queue.Push(7, "a");
  queue.Push(8, "a");
  EXPECT_EQ(queue.Pop(), 7U);
  EXPECT_EQ(queue.Pop(), 8U);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(LaneQueueTest, FinishTakesTheOldestWhoseClusterIsBelowItsShare) {
  LaneQueue queue(LaneLimits{2, 1, 10});
  queue.Push(1, "a");
  queue.Push(2, "b");
  queue.Push(3, "a");  // oldest, but its cluster has its share
  queue.Push(4, "b");
  queue.Pop();
  queue.Pop();
  queue.Finish("b");
  EXPECT_EQ(queue.Pop(), 4U);
  queue.Finish("a");
  EXPECT_EQ(queue.Pop(), 3U);
}

TEST(LaneQueueTest, RemovingAReadyEntryGivesItsWorkerToTheNext) {
  LaneQueue queue(LaneLimits{1, 1, 10});
  queue.Push(1, "a");
  queue.Push(2, "a");
  EXPECT_TRUE(queue.Remove(1));
  EXPECT_EQ(queue.Pop(), 2U);
  EXPECT_EQ(queue.reserved(), 1U);
}

TEST(LaneQueueTest, RemovingAQueuedEntryMakesRoom) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  queue.Push(1, "a");
  queue.Push(2, "a");
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_EQ(queue.Push(3, "a"), Place::kQueued);
}

TEST(LaneQueueTest, APoppedEntryCannotBeRemoved) {
  LaneQueue queue(LaneLimits{1, 1, 1});
  queue.Push(1, "a");
  queue.Pop();
  EXPECT_FALSE(queue.Remove(1));
  EXPECT_EQ(queue.reserved(), 1U);
}

TEST(LaneQueueTest, ALaneWithoutWorkersStillHasOne) {
  LaneQueue queue(LaneLimits{});
  EXPECT_EQ(queue.Push(1, "a"), Place::kReady);
}

}  // namespace
}  // namespace addons
